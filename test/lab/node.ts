/** A node: containerd, kubelet and kube-proxy on a host of its own, in a zone of its own. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { run, Trouble } from "../../scripts/lib.ts";
import { type Host, keepProgram, onHost, startProgram, until } from "./host.ts";
import { CONTROL_ADDRESS, hostRun, type LabNames, nodeAddress, nodeHost, podRange } from "./names.ts";

export const SANDBOX_IMAGE = "localhost/lab-pause:1";

export interface LabNode extends Host {
  readonly index: number;
  readonly pki: string;
}

export function labNode(names: LabNames, bin: string, index: number): LabNode {
  return {
    index,
    name: nodeHost(names.lab, index),
    home: join(names.home, `node${index}`),
    bin,
    pki: join(names.home, "pki"),
    volumes: join(names.home, "volumes"),
  };
}

const SOCKET = join(hostRun(), "containerd.sock");

/** The words before `image import …` and the like. */
export function ctr(node: Host): string[] {
  return [...onHost(node.name), join(node.bin, "ctr"), `--address=${SOCKET}`, "--namespace=k8s.io"];
}

export async function startContainerd(node: LabNode): Promise<void> {
  await mkdir(join(node.home, "cni"), { recursive: true });
  await Bun.write(join(node.home, "cni/10-lab.conflist"), cniConfig(node));
  await Bun.write(join(node.home, "containerd.toml"), containerdConfig(node));
  startProgram(node, "containerd", ["containerd", "--config", join(node.home, "containerd.toml")]);
  await until(`containerd of node${node.index}`, 30_000, async () => {
    const child = Bun.spawn([...ctr(node), "version"], { stdout: "ignore", stderr: "ignore" });
    return (await child.exited) === 0;
  });
}

/** Pods are wired point to point: all their traffic is routed, so Services work without bridge filters in the kernel. */
function cniConfig(node: LabNode): string {
  const ranges = [[{ subnet: podRange(node.index) }]];
  const ipam = { type: "host-local", dataDir: join(node.home, "ipam"), ranges, routes: [{ dst: "0.0.0.0/0" }] };
  const plugins = [
    { type: "ptp", ipMasq: false, ipam },
    { type: "portmap", capabilities: { portMappings: true } },
  ];
  return JSON.stringify({ cniVersion: "1.0.0", name: "lab", plugins }, undefined, 2);
}

function containerdConfig(node: LabNode): string {
  return `version = 3
root = "${join(node.home, "containerd")}"
state = "${join(hostRun(), "containerd")}"
disabled_plugins = ["io.containerd.nri.v1.nri", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.erofs"]
[grpc]
  address = "${SOCKET}"
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = "${SANDBOX_IMAGE}"
[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
  SystemdCgroup = false
[plugins.'io.containerd.cri.v1.runtime'.cni]
  bin_dirs = ["/usr/lib/cni"]
  conf_dir = "${join(node.home, "cni")}"
`;
}

export async function startKubelet(node: LabNode): Promise<void> {
  const file = (name: string) => join(node.home, name);
  await Bun.write(file("kubelet.json"), kubeletConfig(node));
  await Bun.write(file("proxy.json"), proxyConfig(`node${node.index}`, join(node.pki, "proxy.conf")));
  keepProgram(node, "kubelet", [
    "kubelet",
    `--config=${file("kubelet.json")}`,
    `--kubeconfig=${join(node.pki, `node${node.index}.conf`)}`,
    `--root-dir=${file("kubelet")}`,
    `--cert-dir=${file("certs")}`,
    `--hostname-override=node${node.index}`,
    `--node-ip=${nodeAddress(node.index)}`,
    `--node-labels=topology.kubernetes.io/zone=zone-${node.index},topology.kubernetes.io/region=lab`,
  ]);
  keepProgram(node, "kube-proxy", ["kube-proxy", `--config=${file("proxy.json")}`]);
}

/** Why kubelets do not come up, for people; empty when nothing known is found in their logs. */
export async function kubeletTrouble(nodes: readonly LabNode[]): Promise<string> {
  const logs = await Promise.all(
    nodes.map(({ home }) =>
      Bun.file(join(home, "log", "kubelet.log"))
        .text()
        .catch(() => ""),
    ),
  );
  if (!logs.some((log) => log.includes("inotify_init: too many open files"))) return "";
  const most = (await Bun.file("/proc/sys/fs/inotify/max_user_instances").text()).trim();
  return `: other labs and programs have taken the ${most} inotify instances of this machine. Take a lab down (npm run lab -- --name NAME down), or raise fs.inotify.max_user_instances`;
}

function kubeletConfig(node: LabNode): string {
  return JSON.stringify({
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: join(node.pki, "ca.crt") },
    },
    authorization: { mode: "Webhook" },
    tlsCertFile: join(node.pki, `node${node.index}.crt`),
    tlsPrivateKeyFile: join(node.pki, `node${node.index}.key`),
    containerRuntimeEndpoint: `unix://${SOCKET}`,
    cgroupDriver: "cgroupfs",
    cgroupRoot: `/${node.name}`,
    failCgroupV1: false,
    failSwapOn: false,
    clusterDNS: [CONTROL_ADDRESS],
    clusterDomain: "cluster.local",
    resolvConf: "",
    nodeStatusUpdateFrequency: "4s",
    // A pod that writes more than it may is found within seconds, not a minute.
    volumeStatsAggPeriod: "10s",
    evictionHard: {
      "memory.available": "100Mi",
      "nodefs.available": "1%",
      "imagefs.available": "1%",
      "nodefs.inodesFree": "1%",
    },
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    maxPods: 110,
    volumePluginDir: join(node.home, "volumeplugins"),
    podLogsDir: join(node.home, "podlogs"),
    enforceNodeAllocatable: [],
  });
}

/** kube-proxy may not size the connection table from inside a network namespace: it is told to leave it alone. */
export function proxyConfig(hostname: string, kubeconfig: string): string {
  return JSON.stringify({
    apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
    kind: "KubeProxyConfiguration",
    mode: "iptables",
    clusterCIDR: "10.244.0.0/16",
    hostnameOverride: hostname,
    clientConnection: { kubeconfig },
    conntrack: { maxPerCore: 0, tcpEstablishedTimeout: "0s", tcpCloseWaitTimeout: "0s" },
    iptables: { minSyncPeriod: "0s" },
    metricsBindAddress: "127.0.0.1:10249",
  });
}

export async function importImage(node: LabNode, archive: string): Promise<void> {
  await run([...ctr(node), "image", "import", "--no-unpack", "--local", archive]).catch((error: unknown) => {
    throw new Trouble(`node${node.index} could not import ${archive}: ${String(error)}`);
  });
}
