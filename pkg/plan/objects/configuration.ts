/**
 * What agents are told, as the messages that are pushed to them and mounted for a pod that boots.
 *
 * A content that is as it was keeps its sequence, down to the byte. Any other one, a stranger's change of the stored copy
 * included, gets a higher sequence than before: an agent that has read the stranger's takes ours as newer.
 */
import { create, type DescMessage, fromJsonString, type MessageShape, toJsonString } from "@bufbuild/protobuf";
import type { ResolvedClusterSpec } from "../../api/resolve.ts";
import {
  type Configuration,
  ConfigurationSchema,
  type SecretMaterial,
  SecretMaterialSchema,
} from "../../rpc/gen/valkey/agent/v1/configuration_pb.ts";
import type { Users } from "./acl.ts";
import { membersOf } from "./members.ts";
import { announcedHost, type ClusterRef, type MemberRef, nodeHost, nodeName } from "./names.ts";
import { settingsOf } from "./settings.ts";
import type { TlsMaterial } from "./types.ts";
import type { WireFields } from "./wire.ts";

export interface Before {
  /** As stored; undefined when nothing is. */
  readonly text: string | undefined;
  readonly now: Date;
}

export interface ConfigurationInput {
  readonly cluster: ClusterRef;
  readonly spec: ResolvedClusterSpec;
  readonly wire: WireFields;
  /** Beside those that the spec asks for. */
  readonly spares: readonly MemberRef[];
}

export function configurationOf({ cluster, spec, wire, spares }: ConfigurationInput, before: Before): Configuration {
  const members = [...membersOf(spec), ...spares].map((place) => {
    const name = nodeName(cluster.name, place);
    return {
      name,
      ...place,
      host: nodeHost(name, cluster.namespace),
      announcedHost: wire.tls ? announcedHost(cluster, name) : "",
    };
  });
  const content = create(ConfigurationSchema, { settings: settingsOf(spec), members, wire });
  return numbered(ConfigurationSchema, content, before, sha256);
}

export interface SecretContent {
  /** Undefined without users. */
  readonly users: Users | undefined;
  /** Undefined without TLS. */
  readonly tls: TlsMaterial | undefined;
}

/** The name of the content is drawn, not computed: from a hash weak passwords could be guessed. */
export function secretMaterialOf(
  { users, tls }: SecretContent,
  before: Before,
  newPassword: () => string,
): SecretMaterial {
  const content = create(SecretMaterialSchema, {
    aclLines: [...(users?.lines ?? [])],
    ...(users === undefined ? {} : { replication: users.replication }),
    ...(tls === undefined ? {} : tlsFields(tls)),
  });
  return numbered(SecretMaterialSchema, content, before, () => sha256(newPassword()));
}

function tlsFields({ certificate, key, authorities, dhParams = "" }: TlsMaterial) {
  return {
    tlsCertificate: bytes(certificate),
    tlsKey: bytes(key),
    tlsAuthorities: bytes(authorities),
    tlsDhParams: bytes(dhParams),
  };
}

function bytes(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

type Numbered<D extends DescMessage> = MessageShape<D> & { sequence: bigint; hash: string };

function numbered<D extends DescMessage>(
  schema: D,
  content: Numbered<D>,
  { text, now }: Before,
  nameOf: (content: string) => string,
): Numbered<D> {
  const before = text === undefined ? undefined : numbersIn(text);
  // Without a name it is not one of ours, even where nothing else could be missed: secrets of an open cluster are empty.
  if (before !== undefined && before.hash !== "") {
    const same = { ...content, ...before };
    if (toJsonString(schema, same) === text) return same;
  }
  const least = before === undefined ? 0n : before.sequence + 1n;
  const clock = BigInt(now.getTime());
  return { ...content, sequence: least > clock ? least : clock, hash: nameOf(toJsonString(schema, content)) };
}

/** Both messages begin with the same two fields. */
function numbersIn(text: string): { readonly sequence: bigint; readonly hash: string } | undefined {
  try {
    const { sequence, hash } = fromJsonString(ConfigurationSchema, text, { ignoreUnknownFields: true });
    return { sequence, hash };
  } catch {
    return undefined; // What cannot be read is replaced; the clock alone makes the new one the newest.
  }
}

/** The replication login that a stored copy holds, so that a password is made only once. */
export function storedReplication(text: string | undefined): { username: string; password: string } | undefined {
  if (text === undefined) return undefined;
  try {
    const { replication } = fromJsonString(SecretMaterialSchema, text, { ignoreUnknownFields: true });
    return replication === undefined || replication.password === "" ? undefined : replication;
  } catch {
    return undefined;
  }
}

function sha256(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex");
}

export function configurationText(configuration: Configuration): string {
  return toJsonString(ConfigurationSchema, configuration);
}

export function secretsText(secrets: SecretMaterial): string {
  return toJsonString(SecretMaterialSchema, secrets);
}
