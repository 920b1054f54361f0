/**
 * How to reach the API server and as whom: kubeconfig files, or the service account of the pod we run in.
 *
 * In the order of kubectl: the given path, the files of KUBECONFIG, ~/.kube/config, the pod's service account.
 */
import { existsSync, readFileSync } from "node:fs";
import { isIPv6 } from "node:net";
import { homedir } from "node:os";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import * as v from "valibot";
import { type Cluster, ConfigFile, type User } from "./kube-config-file.ts";
import { KubeError } from "./kube-error.ts";
import { type Credentials, FileText, givenText, SourcedCredentials, type TextSource } from "./transport-credentials.ts";
import { ExecCredentials } from "./transport-exec-credentials.ts";

export interface TlsTrust {
  /** PEM. Defaults to the system's. */
  readonly ca?: string | undefined;
  readonly servername?: string | undefined;
  /** Defaults to true. */
  readonly rejectUnauthorized?: boolean | undefined;
}

export interface KubeConnection {
  /** Without a slash at its end. */
  readonly server: string;
  readonly userAgent: string;
  /** The namespace of the context, or of the pod. Defaults to "default". */
  readonly namespace: string;
  readonly tls: () => TlsTrust;
  readonly credentials: Credentials;
}

export interface ConnectionChoice {
  /** Of one kubeconfig file. Defaults to KUBECONFIG, then ~/.kube/config, then the service account. */
  readonly kubeconfig?: string | undefined;
  /** Defaults to the file's current context. */
  readonly context?: string | undefined;
  /** Defaults to "valkey-operator". */
  readonly userAgent?: string | undefined;
  /** Defaults to process.env. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Where a pod finds its service account. Defaults to where kubelet puts it. */
  readonly serviceAccount?: string | undefined;
}

const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";
const USER_AGENT = "valkey-operator";

export function loadConnection(choice: ConnectionChoice = {}): KubeConnection {
  const files = configFiles(choice);
  if (files.length > 0) return fromFiles(files, choice);
  return fromServiceAccount(choice);
}

/** Files named in KUBECONFIG may be missing, one that was asked for by name may not. */
function configFiles({ kubeconfig, env = process.env }: ConnectionChoice): string[] {
  if (kubeconfig !== undefined) return [kubeconfig];
  const named = (env["KUBECONFIG"] ?? "").split(delimiter).filter((path) => path !== "");
  if (named.length > 0) {
    const there = named.filter((path) => existsSync(path));
    if (there.length > 0) return there;
    throw wrong(`none of the files of KUBECONFIG exists: ${named.join(", ")}`);
  }
  const own = join(env["HOME"] ?? homedir(), ".kube", "config");
  return existsSync(own) ? [own] : [];
}

function fromServiceAccount(choice: ConnectionChoice): KubeConnection {
  const { env = process.env, serviceAccount = SERVICE_ACCOUNT } = choice;
  const host = env["KUBERNETES_SERVICE_HOST"];
  const port = env["KUBERNETES_SERVICE_PORT"] ?? "443";
  if (host === undefined || !existsSync(join(serviceAccount, "token"))) {
    throw wrong("there is no kubeconfig and this is not a pod with a service account", "set KUBECONFIG to a file");
  }
  const ca = new FileText(join(serviceAccount, "ca.crt"));
  const namespace = join(serviceAccount, "namespace");
  return {
    server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    userAgent: choice.userAgent ?? USER_AGENT,
    namespace: existsSync(namespace) ? readFileSync(namespace, "utf8").trim() : "default",
    tls: () => ({ ca: ca.read() }),
    credentials: new SourcedCredentials({ token: new FileText(join(serviceAccount, "token")) }),
  };
}

function fromFiles(paths: readonly string[], choice: ConnectionChoice): KubeConnection {
  const files = paths.map(readConfig);
  const current = choice.context ?? files.map((file) => file["current-context"]).find((name) => name !== "");
  if (current === undefined) throw wrong(`no current context in ${paths.join(", ")}`, "name one with --context");
  const { context } = entry(
    current,
    "context",
    files.flatMap((file) => file.contexts),
  );
  const { cluster } = entry(
    context.cluster,
    "cluster",
    files.flatMap((file) => file.clusters),
  );
  const users = files.flatMap((file) => file.users);
  const user = context.user === "" ? {} : entry(context.user, "user", users).user;
  return {
    server: cluster.server.replace(/\/+$/u, ""),
    userAgent: choice.userAgent ?? USER_AGENT,
    namespace: context.namespace,
    tls: trustOf(cluster),
    credentials: credentialsOf(user, cluster),
  };
}

/** Of entries with the same name the first file's counts, as with kubectl. */
function entry<T extends { readonly name: string }>(name: string, what: string, entries: readonly T[]): T {
  const found = entries.find((each) => each.name === name);
  if (found !== undefined) return found;
  const known = entries.map((each) => each.name).join(", ");
  throw wrong(`there is no ${what} ${name}`, `known are: ${known || "none"}`);
}

type Config = v.InferOutput<typeof ConfigFile>;

function readConfig(path: string): Config {
  const text = new FileText(path).read();
  const result = v.safeParse(ConfigFile, parseYaml(path, text));
  if (!result.success) throw wrong(`${path} is not a kubeconfig: ${v.summarize(result.issues)}`);
  const folder = dirname(path);
  const { clusters, users } = result.output;
  return {
    ...result.output,
    clusters: clusters.map(({ name, cluster }) => ({ name, cluster: absolute(folder, cluster, CLUSTER_PATHS) })),
    users: users.map(({ name, user }) => ({ name, user: absoluteUser(folder, user) })),
  };
}

const CLUSTER_PATHS = ["certificate-authority"] as const;
const USER_PATHS = ["client-certificate", "client-key", "tokenFile"] as const;

/** Relative paths in a kubeconfig are relative to it. */
function absolute<T extends object>(folder: string, entry: T, fields: readonly (keyof T)[]): T {
  const found = fields.flatMap((field) => {
    const value = entry[field];
    return typeof value === "string" && !isAbsolute(value) ? [[field, join(folder, value)] as const] : [];
  });
  return { ...entry, ...Object.fromEntries(found) };
}

/** A plugin's name without a slash is looked up in PATH. */
function absoluteUser(folder: string, user: User): User {
  const fixed = absolute(folder, user, USER_PATHS);
  if (fixed.exec?.command.includes("/") !== true) return fixed;
  return { ...fixed, exec: absolute(folder, fixed.exec, ["command"]) };
}

function parseYaml(path: string, text: string): unknown {
  try {
    return Bun.YAML.parse(text);
  } catch (cause) {
    throw wrong(`${path} is not YAML: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
}

function trustOf(cluster: Cluster): () => TlsTrust {
  if (cluster["proxy-url"] !== undefined) throw wrong("the cluster's proxy-url is not supported");
  const ca = textSource(cluster["certificate-authority-data"], cluster["certificate-authority"]);
  const servername = cluster["tls-server-name"];
  const rejectUnauthorized = !cluster["insecure-skip-tls-verify"];
  return () => ({ ca: ca?.read(), servername, rejectUnauthorized });
}

function credentialsOf(user: User, cluster: Cluster): Credentials {
  const headers = impersonation(user);
  if (user["auth-provider"] !== undefined) {
    throw wrong("the user's auth-provider is not supported", "use an exec credential plugin instead");
  }
  if (user.exec !== undefined) {
    const { provideClusterInfo, env, ...plugin } = user.exec;
    const variables = Object.fromEntries(env.map(({ name, value }) => [name, value]));
    return new ExecCredentials(
      { ...plugin, env: variables, cluster: provideClusterInfo ? cluster : undefined },
      { headers },
    );
  }
  return new SourcedCredentials({
    cert: textSource(user["client-certificate-data"], user["client-certificate"]),
    key: textSource(user["client-key-data"], user["client-key"]),
    token: tokenOf(user),
    basic: user.username === undefined ? undefined : { username: user.username, password: user.password ?? "" },
    headers,
  });
}

function tokenOf(user: User): TextSource | undefined {
  if (user.token !== undefined) return givenText(user.token);
  return user.tokenFile === undefined ? undefined : new FileText(user.tokenFile);
}

function impersonation(user: User): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {};
  if (user.as !== undefined) headers["impersonate-user"] = user.as;
  if (user["as-uid"] !== undefined) headers["impersonate-uid"] = user["as-uid"];
  if (user["as-groups"] !== undefined) headers["impersonate-group"] = user["as-groups"];
  return headers;
}

/** Embedded data is base64 of PEM. */
function textSource(data: string | undefined, file: string | undefined): TextSource | undefined {
  if (data !== undefined) return givenText(Buffer.from(data, "base64").toString("utf8"));
  return file === undefined ? undefined : new FileText(file);
}

function wrong(message: string, hint?: string): KubeError {
  return new KubeError({ code: "config", action: "load the kubeconfig", message, hint });
}
