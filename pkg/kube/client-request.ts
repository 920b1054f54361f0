/** The words and the parameters of requests: what an error says was done, and what the URL asks for. */
import * as v from "valibot";
import type { CallOptions, DeleteOutcome, ListQuery, Selection, WriteOptions } from "./client-options.ts";
import { apiVersionOf, keyOfRef, type ObjectRef, type ResourceName } from "./resource.ts";

const Deleted = v.object({ kind: v.literal("Status") });

/** A Status means that the object is gone; the object itself that something still holds it. */
export function deleteOutcome(value: unknown): DeleteOutcome {
  return v.is(Deleted, value) ? "deleted" : "terminating";
}

export function does(verb: string, resource: ResourceName, ref: ObjectRef, subresource?: string): string {
  const aspect = subresource === undefined ? "" : ` ${subresource} of`;
  return `${verb}${aspect} ${resource.kind} ${keyOfRef(ref)}`;
}

export function doesAll(verb: string, resource: ResourceName, selection: Selection): string {
  const { namespace, labelSelector, fieldSelector } = selection;
  const where = resource.namespaced && namespace !== undefined ? ` in ${namespace}` : "";
  const which = [labelSelector, fieldSelector].filter((part) => part !== undefined);
  return `${verb} ${resource.plural}${where}${which.length === 0 ? "" : ` with ${which.join(" and ")}`}`;
}

export function calls(options: CallOptions): CallOptions {
  return { signal: options.signal, deadlineMs: options.deadlineMs };
}

/** A request for a further page may not name a resourceVersion: the token carries it. */
export function listParameters(query: ListQuery): Parameters {
  const { labelSelector, fieldSelector, limit, resourceVersion, resourceVersionMatch } = query;
  return {
    labelSelector,
    fieldSelector,
    limit: limit?.toFixed(0),
    continue: query.continue,
    resourceVersion,
    resourceVersionMatch,
  };
}

export function writeParameters({ fieldManager, dryRun }: WriteOptions): Parameters {
  return { fieldManager, dryRun: dryRun === true ? "All" : undefined };
}

type Parameters = Readonly<Record<string, string | undefined>>;

export function search(parameters: Parameters): string {
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return given.length === 0 ? "" : `?${new URLSearchParams(given).toString()}`;
}

export function ofKind(resource: ResourceName, body: object): object {
  return { ...body, apiVersion: apiVersionOf(resource), kind: resource.kind };
}

/** The items of a list come without apiVersion and kind; a parser sees the same as from `get`. */
export function withKind(resource: ResourceName, item: unknown): unknown {
  if (typeof item !== "object" || item === null) return item;
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, ...item };
}
