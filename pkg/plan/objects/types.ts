/** What the objects of a cluster are made from, and what comes of it. */
import type { ValkeyClusterTlsSpec } from "../../api/cluster-tls.ts";
import type { ValkeyNodeSpec } from "../../api/node.ts";
import type { ResolvedClusterSpec } from "../../api/resolve.ts";
import type { Configuration, SecretMaterial } from "../../rpc/gen/valkey/agent/v1/configuration_pb.ts";
import type { ClusterRef, Labels } from "./names.ts";

/** The cluster that everything belongs to. */
export interface ClusterMeta extends ClusterRef {
  readonly uid: string;
}

/** What the operator knows of itself. */
export interface OperatorFacts {
  /** Where it runs. */
  readonly namespace: string;
  /** Where agents report to. */
  readonly url: string;
  readonly trustDomain: string;
  /** Image of the agent for whoever names none: `repository:tag`. */
  readonly sidecarImage: string;
  /** Its release. */
  readonly version: string;
}

/** PEM texts. */
export interface TlsMaterial {
  /** The server certificate and its chain. */
  readonly certificate: string;
  readonly key: string;
  /** Whom to trust. */
  readonly authorities: string;
  /** Absent for the server's own. */
  readonly dhParams?: string | undefined;
}

/** Something that is given, or why it is not, in words for the user. */
export type Given<T> = { readonly value: T } | { readonly missing: string };

export interface TlsInput {
  readonly spec: ValkeyClusterTlsSpec;
  readonly material: Given<TlsMaterial>;
}

/** What exists already, as text: content is made once and read back ever after. */
export interface Previous {
  /** `configuration.json` of the ConfigMap. */
  readonly configuration?: string | undefined;
  /** `secrets.json` of the Secret. */
  readonly secrets?: string | undefined;
  /** `password` of the exporter's Secret. */
  readonly exporterPassword?: string | undefined;
}

export interface DesiredInput {
  readonly cluster: ClusterMeta;
  readonly spec: ResolvedClusterSpec;
  /** Absent when the spec names none; missing when what it names is not there. */
  readonly tls?: Given<TlsInput> | undefined;
  /** The text of `acl-definitions.yaml`. Absent when the spec names no users. */
  readonly acl?: Given<string> | undefined;
  readonly previous: Previous;
  /** Shards that have a spare now. */
  readonly spares?: readonly number[] | undefined;
  readonly operator: OperatorFacts;
  /** A new password that nobody can guess, at each call. */
  readonly newPassword: () => string;
  readonly now: Date;
}

/** Something that the user has to put right, in words for the status. */
export interface ObjectTrouble {
  /** One CamelCase word for programs. */
  readonly reason: "TlsMissing" | "AclMissing" | "AclInvalid" | "SecurityContextRefused";
  readonly message: string;
}

export interface DesiredObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: DesiredMeta;
  readonly [field: string]: unknown;
}

export interface DesiredMeta {
  readonly name: string;
  readonly namespace: string;
  readonly labels: Labels;
  readonly annotations: Labels;
  readonly ownerReferences?: readonly OwnerReference[];
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller: true;
  readonly blockOwnerDeletion: true;
}

/** A ValkeyNode as its cluster wants it. */
export interface DesiredNode extends DesiredObject {
  readonly spec: ValkeyNodeSpec;
}

export interface Desired {
  /** Everything that the cluster owns, in the order in which it is to be made; ValkeyNodes come last. */
  readonly objects: readonly DesiredObject[];
  /** The ValkeyNodes among them. */
  readonly nodes: readonly DesiredNode[];
  /** ValkeyNodes that a change may add, one of each shard: what is not there already is no part of the objects. */
  readonly spares: readonly DesiredNode[];
  /** What agents are told. Undefined while a trouble keeps it from being known: what runs stays as it is. */
  readonly configuration: Configuration | undefined;
  readonly secrets: SecretMaterial | undefined;
  readonly troubles: readonly ObjectTrouble[];
}
