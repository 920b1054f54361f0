/**
 * Where the leader is reached. The Lease's holder carries it, because that is what every replica knows of the leader at
 * once and for sure: `<pod>_<random>_<address>`. A pod's name holds no underscore.
 */
import { isIPv6 } from "node:net";

export function holderIdentity(pod: string, random: string, address: string | undefined): string {
  return address === undefined || address === "" ? `${pod}_${random}` : `${pod}_${random}_${address}`;
}

/** Empty when the holder does not tell. */
export function leaderUrl(holder: string | undefined, port: number): string {
  const address = holder?.split("_")[2] ?? "";
  if (address === "") return "";
  return `https://${isIPv6(address) ? `[${address}]` : address}:${port}`;
}
