/**
 * The wires: a bridge on the control host, a cable to every node, routes to every node's pods. No namespace of a lab
 * has a route to the outside, so nothing that a test sends can leave the machine.
 */
import { run } from "../../scripts/lib.ts";
import { addNetwork, inNetwork } from "./host.ts";
import { CONTROL_ADDRESS, labNames, NODE_COUNT, nodeAddress, nodeHost, podRange, SERVICE_RANGE } from "./names.ts";

const BRIDGE = "kbr0";

/** The control host's end of a node's cable. */
export function portOf(node: number): string {
  return `port${node}`;
}

export async function wireControl(lab: string): Promise<void> {
  const { control } = labNames(lab);
  await addNetwork(control);
  await script(control, [
    `ip link add ${BRIDGE} type bridge`,
    `ip addr add ${CONTROL_ADDRESS}/24 dev ${BRIDGE}`,
    `ip link set ${BRIDGE} up`,
    `ip route add ${SERVICE_RANGE} dev ${BRIDGE}`,
    "echo 1 > /proc/sys/net/ipv4/ip_forward",
  ]);
}

/** A new network for a node, as after a power cut: no rule, route or address of its earlier life is left. */
export async function wireNode(lab: string, node: number): Promise<void> {
  const { control } = labNames(lab);
  const host = nodeHost(lab, node);
  await addNetwork(host);
  // The kernel takes a network apart some time after its end: the other end of its cable may still be there.
  await script(control, [`ip link del ${portOf(node)} 2>/dev/null || true`]);
  await run([
    "ip",
    "link",
    "add",
    "eth0",
    "netns",
    host,
    "type",
    "veth",
    "peer",
    "name",
    portOf(node),
    "netns",
    control,
  ]);
  const others = [...Array(NODE_COUNT).keys()].filter((other) => other !== node);
  await script(host, [
    `ip addr add ${nodeAddress(node)}/24 dev eth0`,
    "ip link set eth0 up",
    `ip route add default via ${CONTROL_ADDRESS}`,
    "echo 1 > /proc/sys/net/ipv4/ip_forward",
    ...others.map((other) => `ip route add ${podRange(other)} via ${nodeAddress(other)}`),
  ]);
  await script(control, [
    `ip link set ${portOf(node)} master ${BRIDGE}`,
    `ip link set ${portOf(node)} up`,
    `ip route replace ${podRange(node)} via ${nodeAddress(node)}`,
  ]);
}

async function script(host: string, lines: readonly string[]): Promise<void> {
  await run([...inNetwork(host), "sh", "-ec", lines.join("\n")]);
}
