/**
 * What each cluster's objects should be, made anew only when something that they are made from changes: with hundreds of
 * nodes that is most of the work. It also remembers which objects the API server was seen to have as wanted.
 */
import { randomBytes } from "node:crypto";
import * as v from "valibot";
import type { KubeObject } from "../../kube/resource.ts";
import { configurationText, secretsText } from "../../plan/objects/configuration.ts";
import { desiredObjects } from "../../plan/objects/desired.ts";
import { EXPORTER_PASSWORD_KEY } from "../../plan/objects/names.ts";
import type { Desired, DesiredInput, DesiredObject, Previous } from "../../plan/objects/types.ts";

const PASSWORD_BYTES = 32;

interface Memory {
  readonly signature: string;
  readonly desired: Desired;
}

export class DesiredMemory {
  readonly #memories = new Map<string, Memory>();
  readonly #settled = new WeakMap<DesiredObject, KubeObject>();

  /** `finish` adds what is not part of the objects' own making; it must follow from the input alone. */
  of(key: string, input: Omit<DesiredInput, "newPassword">, finish: (desired: Desired) => Desired): Desired {
    const signature = signatureOf(input);
    const known = this.#memories.get(key);
    if (known?.signature === signature) return known.desired;
    const desired = finish(desiredObjects({ ...input, newPassword }));
    this.#memories.set(key, { signature, desired });
    return desired;
  }

  current(key: string): Desired | undefined {
    return this.#memories.get(key)?.desired;
  }

  /** What is to be found in the stored copies; empty before anything was made. */
  previous(key: string): Previous {
    const desired = this.current(key);
    if (desired === undefined) return {};
    const { configuration, secrets, objects } = desired;
    return {
      ...(configuration === undefined ? {} : { configuration: configurationText(configuration) }),
      ...(secrets === undefined ? {} : { secrets: secretsText(secrets) }),
      exporterPassword: exporterPasswordIn(objects),
    };
  }

  forget(key: string): void {
    this.#memories.delete(key);
  }

  /** The API server has it as wanted, and the cache shows it like this. */
  settle(object: DesiredObject, live: KubeObject | undefined): void {
    if (live !== undefined) this.#settled.set(object, live);
  }

  /** A cache gives another object for every version. */
  isSettled(object: DesiredObject, live: KubeObject | undefined): boolean {
    return live !== undefined && this.#settled.get(object) === live;
  }
}

const ExporterSecret = v.object({ data: v.object({ [EXPORTER_PASSWORD_KEY]: v.string() }) });

function exporterPasswordIn(objects: readonly DesiredObject[]): string | undefined {
  for (const object of objects) {
    const found = object.kind === "Secret" ? v.safeParse(ExporterSecret, object) : undefined;
    if (found?.success === true)
      return Buffer.from(found.output.data[EXPORTER_PASSWORD_KEY], "base64").toString("utf8");
  }
  return undefined;
}

/** The clock is left out: it only numbers what changed. */
function signatureOf({ now: _now, ...input }: Omit<DesiredInput, "newPassword">): string {
  return Bun.hash(JSON.stringify(input)).toString(36);
}

function newPassword(): string {
  return randomBytes(PASSWORD_BYTES).toString("base64url");
}
