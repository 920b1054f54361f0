/** The control host: etcd, the API server, controllers, scheduler, DNS, and a proxy so that tests can use Services. */
import { join } from "node:path";
import {
  type Host,
  inNetwork,
  keepProgram,
  kill,
  PROVISIONER_PATH,
  processesNamed,
  startProgram,
  until,
} from "./host.ts";
import { CONTROL_ADDRESS, type LabNames, SERVICE_RANGE } from "./names.ts";
import { proxyConfig } from "./node.ts";

export function controlHost(names: LabNames, bin: string): Host {
  return { name: names.control, home: join(names.home, "control"), bin, volumes: join(names.home, "volumes") };
}

export function startEtcd(host: Host): void {
  const client = "http://127.0.0.1:2379";
  const peer = "http://127.0.0.1:2380";
  startProgram(host, "etcd", [
    "etcd",
    `--data-dir=${join(host.home, "etcd")}`,
    "--unsafe-no-fsync",
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    "--log-level=warn",
  ]);
}

export function startApiServer(host: Host, pki: string): void {
  const file = (name: string) => join(pki, name);
  startProgram(host, "kube-apiserver", [
    "kube-apiserver",
    "--etcd-servers=http://127.0.0.1:2379",
    `--advertise-address=${CONTROL_ADDRESS}`,
    "--secure-port=6443",
    `--tls-cert-file=${file("apiserver.crt")}`,
    `--tls-private-key-file=${file("apiserver.key")}`,
    `--client-ca-file=${file("ca.crt")}`,
    `--kubelet-client-certificate=${file("admin.crt")}`,
    `--kubelet-client-key=${file("admin.key")}`,
    "--kubelet-preferred-address-types=InternalIP",
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-signing-key-file=${file("sa.key")}`,
    `--service-account-key-file=${file("sa.pub")}`,
    "--authorization-mode=Node,RBAC",
    "--enable-admission-plugins=NodeRestriction",
    `--service-cluster-ip-range=${SERVICE_RANGE}`,
    "--allow-privileged",
  ]);
}

/**
 * The provisioner makes volumes that only root can enter, and Kubernetes does not apply a pod's fsGroup to host paths: a
 * pod that does not run as root could not use them. Elsewhere the storage driver does this.
 */
const OPEN_VOLUMES = `while :; do
  find ${PROVISIONER_PATH} -mindepth 1 -maxdepth 1 -type d ! -perm 0777 -exec chmod 0777 {} +
  sleep 0.2
done`;

export function startControllers(host: Host, pki: string): void {
  const file = (name: string) => join(pki, name);
  keepProgram(host, "kube-controller-manager", [
    "kube-controller-manager",
    `--kubeconfig=${file("controller-manager.conf")}`,
    `--service-account-private-key-file=${file("sa.key")}`,
    `--root-ca-file=${file("ca.crt")}`,
    `--cluster-signing-cert-file=${file("ca.crt")}`,
    `--cluster-signing-key-file=${file("ca.key")}`,
    "--use-service-account-credentials",
    "--leader-elect=false",
    "--enable-hostpath-provisioner",
    "--node-monitor-grace-period=20s",
  ]);
  startProgram(host, "volumes", ["sh", "-c", OPEN_VOLUMES]);
  keepProgram(host, "kube-scheduler", [
    "kube-scheduler",
    `--kubeconfig=${file("scheduler.conf")}`,
    "--leader-elect=false",
  ]);
}

/**
 * Controllers and scheduler with a fresh mind. Those that have found no API server for a while look for it less and
 * less often, until a minute goes by between two looks; elsewhere they lose their leases and are started again.
 */
export function renewControllers(names: LabNames): void {
  for (const program of ["kube-controller-manager", "kube-scheduler"]) {
    for (const pid of processesNamed(names.control, program)) kill(pid, "SIGKILL");
  }
}

/** What of the control plane does not run. */
export function missingPrograms(names: LabNames): string[] {
  const programs = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "coredns"];
  return programs.filter((program) => processesNamed(names.control, program).length === 0);
}

export async function startDnsAndProxy(host: Host, pki: string): Promise<void> {
  const corefile = join(host.home, "Corefile");
  await Bun.write(
    corefile,
    `.:53 {
  bind ${CONTROL_ADDRESS}
  errors
  ready ${CONTROL_ADDRESS}:8181
  cache 5
  loadbalance
  kubernetes cluster.local in-addr.arpa {
    kubeconfig ${join(pki, "dns.conf")}
    ttl 5
  }
}
`,
  );
  keepProgram(host, "coredns", ["coredns", "-conf", corefile]);
  const proxy = join(host.home, "proxy.json");
  // It waits half a minute for the Node of its name, and this host is none: it takes the first one's.
  await Bun.write(proxy, proxyConfig("node0", join(pki, "proxy.conf")));
  keepProgram(host, "kube-proxy", ["kube-proxy", `--config=${proxy}`]);
}

/** Whether the API server answers that it is ready. */
export async function apiServerReady(names: LabNames, bin: string): Promise<boolean> {
  const kubectl = [join(bin, "kubectl"), `--kubeconfig=${names.kubeconfig}`, "--request-timeout=2s"];
  const child = Bun.spawn([...inNetwork(names.control), ...kubectl, "get", "--raw=/readyz"], {
    stdout: "ignore",
    stderr: "ignore",
  });
  return (await child.exited) === 0;
}

export async function waitForApiServer(names: LabNames, bin: string): Promise<void> {
  await until("the API server to be ready (see control/log/kube-apiserver.log)", 90_000, () =>
    apiServerReady(names, bin),
  );
}
