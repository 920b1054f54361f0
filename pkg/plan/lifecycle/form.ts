/**
 * The form of a cluster: what it was made with and cannot change while it runs, in this release. It is written down when
 * the cluster is made, as an annotation of its ConfigMap, and read back ever after: the nodes alone do not tell which
 * ValkeyClusterTls or ValkeyClusterAcl they were made from. Nothing in it is secret; Secrets are named, not held.
 */
import * as v from "valibot";
import { parseValkeyClusterAcl, type ValkeyClusterAclSpec } from "../../api/cluster-acl.ts";
import { parseValkeyClusterTls, type ValkeyClusterTlsSpec } from "../../api/cluster-tls.ts";
import { API_VERSION } from "../../api/kind.ts";
import type { ValkeyNodeSpec } from "../../api/node.ts";
import { ParseError } from "../../api/parse-error.ts";
import type { ResolvedClusterSpec } from "../../api/resolve.ts";

/** On the ConfigMap with the boot copy of the configuration. */
export const FORM_ANNOTATION = "valkey.io/form";

const reference = v.object({ name: v.string(), spec: v.unknown() });

const recordedForm = v.object({
  masterCount: v.number(),
  replicasPerMaster: v.number(),
  podManagementType: v.picklist(["statefulset", "deployment"]),
  storage: v.optional(v.object({ size: v.string(), storageClassName: v.optional(v.string()) })),
  tls: v.optional(v.nullable(reference)),
  acl: v.optional(v.nullable(reference)),
});

export interface NamedSpec<Spec> {
  readonly name: string;
  readonly spec: Spec;
}

export interface Form {
  readonly masterCount: number;
  readonly replicasPerMaster: number;
  readonly podManagementType: "statefulset" | "deployment";
  readonly storage?: { readonly size: string; readonly storageClassName?: string | undefined } | undefined;
  /** Null: made without. Absent: not known. */
  readonly tls?: NamedSpec<ValkeyClusterTlsSpec> | null | undefined;
  readonly acl?: NamedSpec<ValkeyClusterAclSpec> | null | undefined;
}

/** What the names in a spec stand for; undefined when there is no name, or no such object. */
export interface References {
  readonly tls?: ValkeyClusterTlsSpec | undefined;
  readonly acl?: ValkeyClusterAclSpec | undefined;
}

/** Of a spec that can be made as it is. What it refers to and does not exist is left open. */
export function formOf(spec: ResolvedClusterSpec, { tls, acl }: References): Form {
  const { masterCount, replicasPerMaster, podManagementType, pvc } = spec;
  return {
    masterCount,
    replicasPerMaster,
    podManagementType,
    ...(pvc === undefined ? {} : { storage: storageOf(pvc.storageSize, pvc.storageClassName) }),
    tls: named(spec.tls, tls),
    acl: named(spec.acl, acl),
  };
}

function named<Spec>(name: string | undefined, spec: Spec | undefined): NamedSpec<Spec> | null | undefined {
  if (name === undefined) return null;
  return spec === undefined ? undefined : { name, spec };
}

function storageOf(size: string, storageClassName: string | undefined) {
  return { size, ...(storageClassName === undefined ? {} : { storageClassName }) };
}

export function writeForm(value: Form): string {
  return JSON.stringify(value);
}

export interface Running {
  /** The annotation, if the ConfigMap is there. */
  readonly recorded?: string | undefined;
  /** The specs of the cluster's ValkeyNodes that exist. */
  readonly nodes: readonly ValkeyNodeSpec[];
}

/** Undefined when nothing was made yet. What somebody deleted or damaged is told from the nodes, as far as they know. */
export function runningForm({ recorded, nodes }: Running): Form | undefined {
  return readForm(recorded) ?? formOfNodes(nodes);
}

function readForm(text: string | undefined): Form | undefined {
  if (text === undefined) return undefined;
  const { success, output } = v.safeParse(recordedForm, parseJson(text));
  if (!success) return undefined;
  const { tls, acl, ...rest } = output;
  return { ...rest, tls: read(tls, parseTls), acl: read(acl, parseAcl) };
}

/** What cannot be read any more is not known. */
function read<Spec>(
  value: v.InferOutput<typeof reference> | null | undefined,
  parse: (name: string, spec: unknown) => Spec,
): NamedSpec<Spec> | null | undefined {
  if (value === undefined || value === null) return value;
  try {
    return { name: value.name, spec: parse(value.name, value.spec) };
  } catch (error) {
    if (error instanceof ParseError) return undefined;
    throw error;
  }
}

function parseTls(name: string, spec: unknown): ValkeyClusterTlsSpec {
  return parseValkeyClusterTls({ apiVersion: API_VERSION, kind: "ValkeyClusterTls", metadata: { name }, spec }).spec;
}

function parseAcl(name: string, spec: unknown): ValkeyClusterAclSpec {
  return parseValkeyClusterAcl({ apiVersion: API_VERSION, kind: "ValkeyClusterAcl", metadata: { name }, spec }).spec;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Somebody has edited it. The nodes are asked instead.
    return undefined;
  }
}

function formOfNodes(nodes: readonly ValkeyNodeSpec[]): Form | undefined {
  const [first] = nodes;
  if (first === undefined) return undefined;
  const { podManagementType, storage } = first;
  return {
    masterCount: Math.max(...nodes.map(({ shard }) => shard)) + 1,
    replicasPerMaster: Math.max(...nodes.map(({ member }) => member)),
    podManagementType,
    ...(storage === undefined ? {} : { storage: storageOf(storage.size, storage.storageClassName) }),
  };
}
