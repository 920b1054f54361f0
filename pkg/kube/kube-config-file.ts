/** The kubeconfig file as far as we read it. Empty strings are as good as nothing, as kubectl has it. */
import * as v from "valibot";

const text = v.pipe(
  v.nullish(v.string()),
  v.transform((value) => (value === null || value === "" ? undefined : value)),
);

const ClusterEntry = v.object({
  server: v.pipe(v.string(), v.url()),
  "certificate-authority": text,
  "certificate-authority-data": text,
  "insecure-skip-tls-verify": v.optional(v.boolean(), false),
  "tls-server-name": text,
  "proxy-url": text,
});
export type Cluster = v.InferOutput<typeof ClusterEntry>;

const Exec = v.object({
  apiVersion: v.optional(v.string(), "client.authentication.k8s.io/v1"),
  command: v.string(),
  args: v.nullish(v.array(v.string()), []),
  env: v.nullish(v.array(v.object({ name: v.string(), value: v.string() })), []),
  installHint: text,
  interactiveMode: v.optional(v.picklist(["Never", "IfAvailable", "Always"]), "IfAvailable"),
  provideClusterInfo: v.optional(v.boolean(), false),
});

const UserEntry = v.object({
  "client-certificate": text,
  "client-certificate-data": text,
  "client-key": text,
  "client-key-data": text,
  token: text,
  tokenFile: text,
  username: text,
  password: text,
  as: text,
  "as-uid": text,
  "as-groups": v.optional(v.array(v.string())),
  exec: v.optional(Exec),
  "auth-provider": v.optional(v.unknown()),
});
export type User = Partial<v.InferOutput<typeof UserEntry>>;

const ContextEntry = v.object({
  cluster: v.string(),
  user: v.optional(v.string(), ""),
  namespace: v.optional(v.string(), "default"),
});

export const ConfigFile = v.object({
  "current-context": v.optional(v.string(), ""),
  clusters: v.nullish(v.array(v.object({ name: v.string(), cluster: ClusterEntry })), []),
  users: v.nullish(v.array(v.object({ name: v.string(), user: v.nullish(UserEntry, {}) })), []),
  contexts: v.nullish(v.array(v.object({ name: v.string(), context: ContextEntry })), []),
});
