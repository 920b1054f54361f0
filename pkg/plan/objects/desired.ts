/**
 * Everything that a cluster owns, from its resolved spec and what exists. The one entry for its controller.
 *
 * While something is missing that the user has to put right (a Secret, a ValkeyClusterTls, users that can be read), what
 * does not depend on it is given all the same. What does is left out and stays as it is: `configuration` and `secrets` are
 * undefined then, and nothing may be taken away because it is not among the objects.
 */
import { type Users, usersOf } from "./acl.ts";
import { bundlesOf } from "./bundles.ts";
import {
  configurationOf,
  configurationText,
  secretMaterialOf,
  secretsText,
  storedReplication,
} from "./configuration.ts";
import { spareOf } from "./members.ts";
import { metaOf, type Owner, objectOf } from "./meta.ts";
import {
  CONFIGURATION_KEY,
  configMapName,
  EXPORTER_PASSWORD_KEY,
  EXPORTER_USER_KEY,
  exporterSecretName,
  SECRETS_KEY,
  secretsName,
} from "./names.ts";
import { nodesOf, spareNodesOf } from "./nodes.ts";
import { budgetsOf, networkPoliciesOf } from "./policies.ts";
import { refusedSecurity } from "./security.ts";
import { servicesOf } from "./services.ts";
import type { Desired, DesiredInput, DesiredObject, ObjectTrouble, TlsInput, TlsMaterial } from "./types.ts";
import { wireOf } from "./wire.ts";

export function desiredObjects(input: DesiredInput): Desired {
  const { cluster, spec, operator } = input;
  const owner: Owner = { cluster, labels: spec.labels };
  const tls = tlsOf(input);
  const users = aclOf(input);
  const troubles = [...tls.troubles, ...users.troubles, ...securityTroubles(input)];
  const wire = wireOf(tls.spec);
  const around = [
    ...bundlesOf(owner, tls.spec),
    ...(tls.known ? servicesOf(owner, spec, wire) : []),
    ...budgetsOf(owner, spec),
    ...(tls.known ? networkPoliciesOf({ owner, spec, wire, operator }) : []),
  ];
  if (troubles.length > 0)
    return { objects: around, nodes: [], spares: [], configuration: undefined, secrets: undefined, troubles };
  const { previous, now, newPassword } = input;
  const spares = (input.spares ?? []).map(spareOf);
  const configuration = configurationOf({ cluster, spec, wire, spares }, { text: previous.configuration, now });
  const content = { users: users.value, tls: tls.material };
  const secrets = secretMaterialOf(content, { text: previous.secrets, now }, newPassword);
  const nodes = nodesOf({ cluster, spec, operator, wire }, spares);
  return {
    objects: [
      configMap(owner, configurationText(configuration)),
      secret(owner, secretsName(cluster.name), { [SECRETS_KEY]: secretsText(secrets) }),
      ...exporterSecret(owner, input, users.value),
      ...around,
      ...nodes,
    ],
    nodes,
    spares: spareNodesOf({ cluster, spec, operator, wire }),
    configuration,
    secrets,
    troubles: [],
  };
}

interface TlsParts {
  /** Whether it is known how the servers listen. */
  readonly known: boolean;
  readonly spec: TlsInput["spec"] | undefined;
  readonly material: TlsMaterial | undefined;
  readonly troubles: readonly ObjectTrouble[];
}

function tlsOf({ spec, tls }: DesiredInput): TlsParts {
  const nothing = { spec: undefined, material: undefined, troubles: [] };
  if (spec.tls === undefined) return { ...nothing, known: true };
  const missing = (message: string): ObjectTrouble[] => [{ reason: "TlsMissing", message }];
  if (tls === undefined || "missing" in tls) {
    const message = tls?.missing ?? `ValkeyClusterTls ${spec.tls}, which spec.tls names, does not exist: create it`;
    return { ...nothing, known: false, troubles: missing(message) };
  }
  const { material } = tls.value;
  if ("missing" in material) {
    return { ...nothing, known: true, spec: tls.value.spec, troubles: missing(material.missing) };
  }
  return { known: true, spec: tls.value.spec, material: material.value, troubles: [] };
}

interface AclParts {
  readonly value: Users | undefined;
  readonly troubles: readonly ObjectTrouble[];
}

function aclOf({ spec, acl, previous, newPassword }: DesiredInput): AclParts {
  if (spec.acl === undefined) return { value: undefined, troubles: [] };
  if (acl === undefined || "missing" in acl) {
    const message = acl?.missing ?? `ValkeyClusterAcl ${spec.acl}, which spec.acl names, does not exist: create it`;
    return { value: undefined, troubles: [{ reason: "AclMissing", message }] };
  }
  const before = {
    replication: storedReplication(previous.secrets),
    exporterPassword: previous.exporterPassword,
  };
  const users = usersOf(acl.value, before, newPassword);
  if ("wrong" in users) return { value: undefined, troubles: [{ reason: "AclInvalid", message: users.wrong }] };
  return { value: users.value, troubles: [] };
}

function securityTroubles({ spec }: DesiredInput): ObjectTrouble[] {
  const message = refusedSecurity(spec.securityContext);
  return message === undefined ? [] : [{ reason: "SecurityContextRefused", message }];
}

function configMap(owner: Owner, text: string): DesiredObject {
  const metadata = metaOf(owner, { name: configMapName(owner.cluster.name) });
  return objectOf({ apiVersion: "v1", kind: "ConfigMap" }, metadata, { data: { [CONFIGURATION_KEY]: text } });
}

function exporterSecret(owner: Owner, { spec }: DesiredInput, users: Users | undefined): DesiredObject[] {
  if (users === undefined || !spec.exporter.enabled) return [];
  const { username, password } = users.exporter;
  const data = { [EXPORTER_USER_KEY]: username, [EXPORTER_PASSWORD_KEY]: password };
  return [secret(owner, exporterSecretName(owner.cluster.name), data)];
}

function secret(owner: Owner, name: string, texts: Readonly<Record<string, string>>): DesiredObject {
  const data = Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, base64(text)]));
  return objectOf({ apiVersion: "v1", kind: "Secret" }, metaOf(owner, { name }), { type: "Opaque", data });
}

function base64(text: string): string {
  return new TextEncoder().encode(text).toBase64();
}
