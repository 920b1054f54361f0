/**
 * npm run demo [-- --context NAME]    a Kubernetes cluster, the operator on it, a first ValkeyCluster as it comes up
 * npm run demo -- down                takes all of it away again
 *
 * Without --context it makes a cluster of its own on this machine, beside any that tests or you have. Your own cluster
 * must be able to pull our images: --image names the operator's, --sidecar-image the agent's (see docs/images.md).
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { down, insideLab, labEnv, up } from "../test/lab/lab.ts";
import { build } from "./build.ts";
import { DIST, main, ROOT, run, step, Trouble } from "./lib.ts";

const DEMO_LAB = "demo";
const NAMESPACE = "valkey-operator-system";
const OPERATOR = "valkey-operator";
/** Of the first cluster. */
const FIRST_NAMESPACE = "demo";
const FIRST = "first";
const FIRST_CLUSTER = join(ROOT, "manifests/samples/first-cluster.yaml");
const INSTALL = join(ROOT, "manifests/install.yaml");

/** A machine that has to pull the images first is slow. */
const PATIENCE_MS = 300_000;

/** How to run kubectl, and how the user types it. */
interface Cluster {
  readonly kubectl: readonly string[];
  /** After the command: kubectl starts a plugin only when its name comes first. */
  readonly flags: readonly string[];
  readonly env: Record<string, string>;
  readonly typed: string;
}

interface DemoOptions {
  readonly context: string | undefined;
  readonly image: string | undefined;
  readonly sidecarImage: string | undefined;
}

async function labCluster(): Promise<Cluster> {
  const lab = await up(DEMO_LAB);
  return {
    kubectl: [...insideLab(lab), "kubectl"],
    flags: [],
    env: labEnv(lab),
    typed: `npm run --silent lab -- --name ${DEMO_LAB} kubectl`,
  };
}

function givenCluster(context: string): Cluster {
  const path = `${DIST}:${process.env["PATH"] ?? ""}`;
  return { kubectl: ["kubectl"], flags: [`--context=${context}`], env: { PATH: path }, typed: "kubectl" };
}

async function bringUp({ context, image, sidecarImage }: DemoOptions): Promise<void> {
  const cluster = context === undefined ? await labCluster() : givenCluster(context);
  await build("kubectl-valkey");
  const kubectl = (...args: string[]) => run([...cluster.kubectl, ...args, ...cluster.flags], { env: cluster.env });
  const deployment = [`deployment/${OPERATOR}`, "-n", NAMESPACE];
  const before = await kubectl("get", ...deployment, "--ignore-not-found", "-o", "name");
  await step("install the operator", () => kubectl("apply", "--server-side", "-f", INSTALL));
  if (image !== undefined) await kubectl("set", "image", ...deployment, `operator=${image}`);
  // The image of this checkout has the same tag as the one before it.
  else if (before !== "") await kubectl("rollout", "restart", ...deployment);
  await step("the operator is ready", () => kubectl("rollout", "status", ...deployment, "--timeout=120s"));
  console.log(`\n${await kubectl("get", "nodes", "-L", "topology.kubernetes.io/zone")}`);
  console.log(await kubectl("valkey", "version"));
  await step("apply a first ValkeyCluster", () => applyFirst(kubectl, sidecarImage));
  await showFirst(cluster);
  console.log(`\n${await kubectl("get", "valkeyclusters,pods", "-n", FIRST_NAMESPACE, "-o", "wide")}`);
  console.log(whatNext(cluster, context));
}

type Kubectl = (...args: string[]) => Promise<string>;

async function applyFirst(kubectl: Kubectl, sidecarImage: string | undefined): Promise<void> {
  const there = await kubectl("get", "namespace", FIRST_NAMESPACE, "--ignore-not-found", "-o", "name");
  if (there === "") await kubectl("create", "namespace", FIRST_NAMESPACE);
  await kubectl("apply", "-n", FIRST_NAMESPACE, "-f", FIRST_CLUSTER);
  if (sidecarImage === undefined) return;
  const patch = { spec: { sidecarImage: imageOf(sidecarImage) } };
  await kubectl("patch", "valkeycluster", FIRST, "-n", FIRST_NAMESPACE, "--type=merge", "-p", JSON.stringify(patch));
}

function imageOf(text: string): { name: string; tag: string } {
  const match = /^(.+):([^:/]+)$/.exec(text);
  if (match === null) throw new Trouble(`--sidecar-image "${text}" must be an image with its tag: NAME:TAG`);
  const [, name = "", tag = ""] = match;
  return { name, tag };
}

/** The plugin draws it until it is ready. */
async function showFirst({ kubectl, flags, env }: Cluster): Promise<void> {
  const words = ["valkey", "topology", FIRST, "-n", FIRST_NAMESPACE, "--until-ready", ...flags];
  const child = Bun.spawn([...kubectl, ...words], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "inherit", "inherit"],
    timeout: PATIENCE_MS,
  });
  const code = await child.exited;
  if (code === 0) return;
  const hint = `look at it with: kubectl valkey status ${FIRST} -n ${FIRST_NAMESPACE}`;
  throw new Trouble(`the cluster was not ready within ${PATIENCE_MS / 60_000} minutes; ${hint}`);
}

function whatNext({ typed, flags }: Cluster, context: string | undefined): string {
  const end = context === undefined ? "npm run demo -- down" : `npm run demo -- down --context ${context}`;
  const first = ["-n", FIRST_NAMESPACE, ...flags];
  return `The cluster serves. Try next:
  ${[typed, "valkey status", FIRST, ...first].join(" ")}
  ${[typed, "exec", `${FIRST}-0-0-0`, "-c valkey", ...first, "-- valkey-cli -c set hello world"].join(" ")}
  ${[typed, "valkey topology", FIRST, ...first, "--watch"].join(" ")}
  ${[typed, "delete pod", `${FIRST}-0-0-0`, ...first].join(" ")}
  ${[typed, "explain valkeycluster.spec", ...flags].join(" ")}
  ${end}`;
}

/** From a cluster of the user's own only what the demo put there is removed. */
async function takeAway(context: string | undefined): Promise<void> {
  if (context === undefined) return down(DEMO_LAB);
  const { kubectl, flags, env } = givenCluster(context);
  const remove = (...words: string[]) => run([...kubectl, "delete", "--ignore-not-found", ...words, ...flags], { env });
  // While the operator is there to do it.
  await step("remove the first cluster", () => remove("valkeycluster", FIRST, "-n", FIRST_NAMESPACE));
  await step("remove its namespace", () => remove("namespace", FIRST_NAMESPACE));
  await step("remove the operator", () => remove("-f", INSTALL));
}

await main(
  async () => {
    const text = { type: "string" } as const;
    const options = { context: text, image: text, "sidecar-image": text } as const;
    const { values, positionals } = parseArgs({ allowPositionals: true, options });
    const [action = "up", ...more] = positionals;
    if (more.length > 0 || !["up", "down"].includes(action)) {
      throw new Trouble(
        `cannot "${positionals.join(" ")}"; usage: npm run demo [-- up|down] [--context NAME] [--image NAME] [--sidecar-image NAME]`,
      );
    }
    await (action === "down"
      ? takeAway(values.context)
      : bringUp({ context: values.context, image: values.image, sidecarImage: values["sidecar-image"] }));
  },
  import.meta.path,
);
