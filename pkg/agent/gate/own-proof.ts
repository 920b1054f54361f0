/** What the members of a shard prove to each other before one takes its slots. Pure. */
import { type Peer, type Standing, silentOnes, standingsOf } from "./standing.ts";

/**
 * Whether a fresh node may take the slots of its shard. A command that comes late must not make a second owner: every
 * member has to be heard of or be lost, and none may have data or slots. Gives the reason why not.
 */
export function whyNotOwn(own: Standing, peers: readonly Peer[]): string | undefined {
  // Sent again: what it may own beside these is judged by its own table.
  if (own.primary) return undefined;
  const [silent] = silentOnes(peers);
  if (silent !== undefined) return `${silent.node} is neither heard of nor proven lost: ${silent.why}`;
  const other = standingsOf(peers).find(({ hasData, primary }) => hasData || primary);
  if (other === undefined) return undefined;
  return `${other.node} has ${other.primary ? "the slots" : "data"} of the shard`;
}
