/** The Secret and the webhook configuration in the API server, for whoever can send it a request. */
import * as v from "valibot";
import type { CaBundles, CaBundleWriter, SecretStore, StoredSecret } from "./certificate-store.ts";

export interface ApiRequest {
  /** For errors: `read Secret valkey-system/webhooks`. */
  readonly action: string;
  readonly method: "GET" | "POST" | "PATCH";
  readonly path: string;
  readonly contentType: string;
  readonly body: string | undefined;
  readonly signal: AbortSignal;
}

/** Gives every answer of the API server, also a refusal; throws when there is none. */
export type ApiCall = (request: ApiRequest) => Promise<{ readonly status: number; readonly body: string }>;

export interface SecretName {
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

export interface ConfigurationName {
  readonly kind: "validatingwebhookconfigurations" | "mutatingwebhookconfigurations";
  readonly name: string;
}

const Metadata = v.object({ resourceVersion: v.string() });
const SecretSchema = v.object({ metadata: Metadata, data: v.nullish(v.record(v.string(), v.string()), {}) });
const ConfigurationSchema = v.object({
  metadata: Metadata,
  webhooks: v.nullish(v.array(v.object({ clientConfig: v.object({ caBundle: v.nullish(v.string(), "") }) })), []),
});
const StatusSchema = v.object({ message: v.string() });

const READ = { method: "GET", contentType: "application/json", body: undefined } as const;
const CREATE = { method: "POST", contentType: "application/json" } as const;
const CHANGE = { method: "PATCH", contentType: "application/json-patch+json" } as const;

/** A patch that names a resourceVersion is refused with 409 if the object has another. */
const at = (value: string) => ({ op: "replace", path: "/metadata/resourceVersion", value });

export function kubeSecretStore(api: ApiCall, { namespace, name, labels }: SecretName): SecretStore {
  const collection = `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets`;
  const path = `${collection}/${encodeURIComponent(name)}`;
  const what = `Secret ${namespace}/${name}`;
  return {
    async read(signal) {
      const action = `read ${what}`;
      const reply = await api({ ...READ, action, path, signal });
      return reply.status === 404 ? undefined : storedSecret(action, reply);
    },
    async create(data, signal) {
      const body = {
        apiVersion: "v1",
        kind: "Secret",
        type: "kubernetes.io/tls",
        metadata: { name, labels },
        data: encode(data),
      };
      const action = `create ${what}`;
      const reply = await api({ ...CREATE, action, path: collection, body: JSON.stringify(body), signal });
      return reply.status === 409 ? "conflict" : storedSecret(action, reply);
    },
    async update({ data, resourceVersion }, signal) {
      const body = [at(resourceVersion), { op: "add", path: "/data", value: encode(data) }];
      const action = `update ${what}`;
      const reply = await api({ ...CHANGE, action, path, body: JSON.stringify(body), signal });
      return isConflict(reply) ? "conflict" : storedSecret(action, reply);
    },
  };
}

export function kubeCaBundleWriter(api: ApiCall, { kind, name }: ConfigurationName): CaBundleWriter {
  const path = `/apis/admissionregistration.k8s.io/v1/${kind}/${encodeURIComponent(name)}`;
  const what = `the caBundle of ${kind}/${name}`;
  return {
    async read(signal) {
      const action = `read ${what}`;
      const reply = await api({ ...READ, action, path, signal });
      return reply.status === 404 ? undefined : caBundles(action, reply);
    },
    async write(bundle, { bundles, resourceVersion }, signal) {
      const value = base64(bundle);
      const sets = bundles.map((_, index) => ({ op: "add", path: `/webhooks/${index}/clientConfig/caBundle`, value }));
      const action = `write ${what}`;
      const body = JSON.stringify([at(resourceVersion), ...sets]);
      const reply = await api({ ...CHANGE, action, path, body, signal });
      if (isConflict(reply)) return "conflict";
      caBundles(action, reply);
      return "written";
    },
  };
}

interface Reply {
  readonly status: number;
  readonly body: string;
}

function storedSecret(action: string, reply: Reply): StoredSecret {
  const { metadata, data } = parse(action, SecretSchema, reply);
  const decoded = Object.entries(data).map(([key, value]) => [key, text(value)] as const);
  return { data: Object.fromEntries(decoded), resourceVersion: metadata.resourceVersion };
}

function caBundles(action: string, reply: Reply): CaBundles {
  const { metadata, webhooks } = parse(action, ConfigurationSchema, reply);
  const bundles = webhooks.map(({ clientConfig }) => text(clientConfig.caBundle));
  return { bundles, resourceVersion: metadata.resourceVersion };
}

/** The body of a Secret never reaches the message. */
function parse<T extends v.GenericSchema>(action: string, schema: T, { status, body }: Reply): v.InferOutput<T> {
  const json = v.safeParse(v.pipe(v.string(), v.parseJson()), body);
  if (status < 200 || status > 299) {
    const told = json.success && v.is(StatusSchema, json.output) ? json.output.message : "no reason given";
    throw new Error(`cannot ${action}: ${status}: ${told}`);
  }
  const result = v.safeParse(schema, json.output);
  if (result.success) return result.output;
  throw new Error(`cannot ${action}: the answer cannot be read at ${v.getDotPath(result.issues[0]) ?? "its root"}`);
}

/** Gone counts as changed: the caller reads again and sees it. */
function isConflict({ status }: Reply): boolean {
  return status === 409 || status === 404;
}

function encode(data: StoredSecret["data"]): Record<string, string> {
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, base64(value)]));
}

function text(base64: string): string {
  return Buffer.from(base64, "base64").toString("utf8");
}

function base64(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}
