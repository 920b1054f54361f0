/** The lab is what it claims to be: a real cluster, and faults that really happen and really end. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { run } from "../../scripts/lib.ts";
import * as faults from "../lab/faults.ts";
import type { Lab } from "../lab/lab.ts";
import { VALKEY_VERSIONS } from "../lab/valkey.ts";
import { until } from "../lib/until.ts";
import { apply, kubectl, onLab, theLab } from "./cluster.ts";

const NAMESPACE = `lab-faults-${crypto.randomUUID().slice(0, 6)}`;

/** A Valkey pod on a node, with what else the test wants of it. */
function valkeyPod(
  name: string,
  node: string,
  extra: { version?: string; args?: string[]; claim?: string } = {},
): object {
  const volume = extra.claim === undefined ? { emptyDir: {} } : { persistentVolumeClaim: { claimName: extra.claim } };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: NAMESPACE, labels: { app: name } },
    spec: {
      nodeName: node,
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          name: "valkey",
          image: `valkey/valkey:${extra.version ?? "9.1"}`,
          imagePullPolicy: "Never",
          args: ["--dir", "/data", "--protected-mode", "no", ...(extra.args ?? [])],
          volumeMounts: [{ name: "data", mountPath: "/data" }],
          readinessProbe: { tcpSocket: { port: 6379 }, periodSeconds: 1 },
        },
      ],
      volumes: [{ name: "data", ...volume }],
    },
  };
}

async function ready(...pods: string[]): Promise<void> {
  const names = pods.map((pod) => `pod/${pod}`);
  await kubectl(["wait", "-n", NAMESPACE, "--for=condition=Ready", "--timeout=180s", ...names]);
}

async function podIp(pod: string): Promise<string> {
  return kubectl(["get", "pod", "-n", NAMESPACE, pod, "-o", "jsonpath={.status.podIP}"]);
}

async function restarts(pod: string): Promise<number> {
  const path = "jsonpath={.status.containerStatuses[0].restartCount}";
  return Number(await kubectl(["get", "pod", "-n", NAMESPACE, pod, "-o", path]));
}

/** One command to a server; rejects when nothing answers within three seconds. */
async function ask(host: string, command: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect({ host, port: 6379 });
  const deadline = setTimeout(() => socket.destroy(new Error(`no answer from ${host}`)), 3000);
  const words = command.split(" ").map((word) => `$${word.length}\r\n${word}\r\n`);
  socket.on("connect", () => socket.write(`*${words.length}\r\n${words.join("")}`));
  socket.on("data", (data) => resolve(data.toString().trim()));
  socket.on("error", reject);
  socket.on("close", () => reject(new Error(`${host} closed the connection`)));
  return promise.finally(() => {
    clearTimeout(deadline);
    socket.destroy();
  });
}

function answers(host: string): Promise<boolean> {
  return ask(host, "PING").then((answer) => answer === "+PONG");
}

function silent(host: string): Promise<boolean> {
  return ask(host, "PING").then(
    () => false,
    () => true,
  );
}

describe.skipIf(!onLab)("the lab", () => {
  let lab: Lab;

  beforeAll(async () => {
    const found = await theLab();
    if (found === undefined) throw new Error("no lab");
    lab = found;
    await kubectl(["create", "namespace", NAMESPACE]);
  });
  afterAll(async () => {
    await kubectl(["delete", "namespace", NAMESPACE, "--ignore-not-found", "--wait=false"]);
  });

  test("three nodes are ready, each in a zone of its own", async () => {
    const path = "jsonpath={range .items[*]}{.metadata.name}={.metadata.labels.topology\\.kubernetes\\.io/zone} {end}";
    expect((await kubectl(["get", "nodes", "-o", path])).trim()).toBe("node0=zone-0 node1=zone-1 node2=zone-2");
  });

  test("the command line reaches it by its name", async () => {
    const command = [process.execPath, "test/lab/main.ts", "--name", lab.lab];
    expect(await run([...command, "kubectl", "get", "nodes", "-o", "name"])).toBe(
      "node/node0\nnode/node1\nnode/node2\n",
    );
    expect(await run([...command, "status"])).toContain(`lab "${lab.lab}": 4 of 4 hosts on`);
  });

  test("both Valkey versions run on every node, with a volume, and are found by name through a Service", async () => {
    const claim = {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name: "disk", namespace: NAMESPACE },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    };
    const service = (name: string) => ({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name, namespace: NAMESPACE },
      spec: { selector: { app: name }, ports: [{ port: 6379 }] },
    });
    const pods = VALKEY_VERSIONS.flatMap((version) =>
      lab.nodes.map((node) => ({
        name: `v${version.replace(".", "")}-${node.index}`,
        node: `node${node.index}`,
        version,
      })),
    );
    await apply(claim, ...pods.map(({ name }) => service(name)));
    await apply(
      ...pods.map(({ name, node, version }) =>
        valkeyPod(name, node, { version, ...(name === "v91-0" ? { claim: "disk" } : {}) }),
      ),
    );
    await ready(...pods.map(({ name }) => name));
    for (const { name, version } of pods) {
      const ip = await kubectl(["get", "service", "-n", NAMESPACE, name, "-o", "jsonpath={.spec.clusterIP}"]);
      await until(`${name} answers at its Service`, () => answers(ip));
      expect(await ask(ip, "INFO server")).toContain(`valkey_version:${version}.`);
    }
    // From a pod, by name: DNS, and a Service whose pod is on the same node as the caller.
    const cli = ["exec", "-n", NAMESPACE, "v91-0", "--", "valkey-cli", "-h"];
    // A name and its way are known to every node a moment after the pod is ready.
    for (const target of ["v81-0", "v81-1"])
      await until(`${target} answers by name`, async () => (await kubectl([...cli, target, "PING"])).trim() === "PONG");
  });

  test("a node that is cut off answers nobody, and is back when healed", async () => {
    const ip = await podIp("v91-1");
    const heal = await faults.cutNode(lab, faults.nodeNamed(lab, "node1"));
    try {
      await until("the cut node is silent", () => silent(ip));
    } finally {
      await heal();
    }
    await until("the healed node answers", () => answers(ip));
  });

  test("a power cut ends all on a node; its disks come back with it", async () => {
    expect(await ask(await podIp("v91-0"), "SET kept yes")).toBe("+OK");
    expect(await ask(await podIp("v91-0"), "SAVE")).toBe("+OK");
    const heal = await faults.powerCutNode(lab, faults.nodeNamed(lab, "node0"));
    expect(await silent(await podIp("v91-0"))).toBe(true);
    await heal();
    await until(
      "the pod runs again with its data",
      async () => (await ask(await podIp("v91-0"), "GET kept")).endsWith("yes"),
      {
        timeoutMs: 180_000,
      },
    );
    await kubectl(["wait", "--for=condition=Ready", "--timeout=180s", "node/node0"]);
  });

  test("a lossy link loses packets and heals", async () => {
    const node = faults.nodeNamed(lab, "node2");
    const ip = await podIp("v91-2");
    const heal = await faults.troubleLink(node, { lossPercent: 100 });
    try {
      await until("all packets are lost", () => silent(ip));
    } finally {
      await heal();
    }
    await until("packets pass again", () => answers(ip));
  });

  test("latency on a link is seen, or the kernel's lack of netem is said plainly", async () => {
    const node = faults.nodeNamed(lab, "node2");
    if (!(await faults.hasNetem(node))) {
      const error = await faults.troubleLink(node, { latencyMs: 300 }).catch((cause: unknown) => cause);
      expect(String(error)).toContain("cannot delay packets");
      return;
    }
    const ip = await podIp("v91-2");
    const heal = await faults.troubleLink(node, { latencyMs: 300 });
    try {
      const began = performance.now();
      await until("the slow node answers", () => answers(ip));
      expect(performance.now() - began).toBeGreaterThan(300);
    } finally {
      await heal();
    }
  });

  test("a frozen server is silent and goes on when thawed", async () => {
    const ref = { namespace: NAMESPACE, pod: "v81-2", container: "valkey" };
    const ip = await podIp("v81-2");
    const before = await restarts("v81-2");
    const thaw = await faults.freezeContainer(lab, ref);
    try {
      await until("the frozen server is silent", () => silent(ip));
    } finally {
      await thaw();
    }
    await until("the thawed server answers", () => answers(ip));
    expect(await restarts("v81-2")).toBe(before);
  });

  test("a killed process is restarted by kubelet", async () => {
    const before = await restarts("v81-1");
    await faults.killContainer(lab, { namespace: NAMESPACE, pod: "v81-1", container: "valkey" });
    await until("kubelet restarted it", async () => (await restarts("v81-1")) === before + 1);
  });

  test("the API server restarts while data is served", async () => {
    const ip = await podIp("v91-2");
    const heal = await faults.stopApiServer(lab);
    // Not by our kubectl, which waits for it.
    const look = ["kubectl", "get", "nodes", "--request-timeout=2s"];
    const refused = await run(look).catch((error: unknown) => String(error));
    expect(refused).toContain("refused");
    expect(await answers(ip)).toBe(true);
    await heal();
    expect(await kubectl(["get", "nodes"])).toContain("node0");
  });

  test("a full disk is full", async () => {
    const volume = await faults.smallVolume(lab, faults.nodeNamed(lab, "node2"), { mebibytes: 4 });
    try {
      const claim = {
        apiVersion: "v1",
        kind: "PersistentVolumeClaim",
        metadata: { name: "tiny", namespace: NAMESPACE },
        spec: {
          accessModes: ["ReadWriteOnce"],
          storageClassName: volume.storageClassName,
          resources: { requests: { storage: "4Mi" } },
        },
      };
      await apply(
        claim,
        valkeyPod("tiny", "node2", { claim: "tiny", args: ["--appendonly", "yes", "--appendfsync", "always"] }),
      );
      await ready("tiny");
      const ip = await podIp("tiny");
      const value = "x".repeat(100_000);
      const full = await until(
        "a write that does not fit is refused",
        async () => {
          const answer = await ask(ip, `SET k ${value}`).catch((error: unknown) => String(error));
          return answer === "+OK" || answer.includes("no answer") ? undefined : answer;
        },
        { everyMs: 1 },
      );
      expect(full).toMatch(/MISCONF|closed|ECONN|No space/);
    } finally {
      await kubectl(["delete", "pod", "-n", NAMESPACE, "tiny", "--ignore-not-found", "--wait=false"]);
      await volume.remove();
    }
  });
});
