/** The answer to ROLE: what the server is at this moment. */
import * as v from "valibot";
import type { Reply } from "./resp.ts";
import { ValkeyError } from "./valkey-error.ts";

export type ServerRole =
  | { readonly role: "primary"; readonly offset: number; readonly replicas: readonly RoleReplica[] }
  | {
      readonly role: "replica";
      readonly primary: { readonly host: string; readonly port: number };
      /** `connected` once it follows the stream; connect, connecting, handshake or sync before. */
      readonly link: string;
      /** -1 before its first sync. */
      readonly offset: number;
    };

export interface RoleReplica {
  readonly ip: string;
  readonly port: number;
  readonly offset: number;
}

const integerText = v.pipe(v.string(), v.regex(/^-?\d+$/u), v.transform(Number));
const Primary = v.looseTuple([
  v.picklist(["master", "primary"]),
  v.number(),
  v.array(v.looseTuple([v.string(), integerText, integerText])),
]);
const Replica = v.looseTuple([v.picklist(["slave", "replica"]), v.string(), v.number(), v.string(), v.number()]);

export function parseRole(reply: Reply): ServerRole {
  const primary = v.safeParse(Primary, reply);
  if (primary.success) {
    const [, offset, replicas] = primary.output;
    return { role: "primary", offset, replicas: replicas.map(([ip, port, at]) => ({ ip, port, offset: at })) };
  }
  const replica = v.safeParse(Replica, reply);
  if (replica.success) {
    const [, host, port, link, offset] = replica.output;
    return { role: "replica", primary: { host, port }, link, offset };
  }
  throw new ValkeyError({ code: "bad-response", action: "ROLE", message: "the answer is neither role's" });
}
