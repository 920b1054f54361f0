/** Whether a certificate will do for the servers of a cluster, in words for the user. */
import type { ValkeyClusterTlsStatus } from "../../api/cluster-tls.ts";
import { someOf } from "./view.ts";

/** What is in a Secret for servers. */
export interface ServerFacts {
  /** Of tls.crt, tls.key and ca.crt. */
  readonly missing: readonly string[];
  /** Why what is there cannot be read or does not fit together; undefined when it does. */
  readonly problem: string | undefined;
  readonly thumbprint: string | undefined;
  readonly notBefore: Date | undefined;
  readonly notAfter: Date | undefined;
  readonly dnsNames: readonly string[];
}

export type ServerSecret =
  | { readonly is: "unknown" }
  | { readonly is: "absent" }
  | { readonly is: "there"; readonly facts: ServerFacts };

export interface ServerVerdict {
  /** Whether servers can be started with it. */
  readonly usable: boolean;
  readonly phase: NonNullable<ValkeyClusterTlsStatus["phase"]>;
  readonly message: string;
  readonly notAfter?: Date | undefined;
  /** SHA-256 of the certificate. */
  readonly thumbprint?: string | undefined;
}

export interface ServerQuestion {
  /** For texts: the Secret's name. */
  readonly name: string;
  /** Whether the operator issues it. */
  readonly own: boolean;
  readonly secret: ServerSecret;
  /** The names that servers announce to clients. */
  readonly announced: readonly string[];
}

export function judgeServer({ name, own, secret, announced }: ServerQuestion, now: Date): ServerVerdict {
  if (secret.is === "unknown") return no("Pending", `Secret ${name} is being read`);
  if (secret.is === "absent") {
    if (own) return no("Issuing", `the certificate in Secret ${name} is being issued`);
    return no(
      "MissingSecret",
      `Secret ${name}, which externalCerts names, does not exist: create it with tls.crt, tls.key and ca.crt`,
    );
  }
  return judgeFacts(name, secret.facts, announced, now);
}

function judgeFacts(name: string, facts: ServerFacts, announced: readonly string[], now: Date): ServerVerdict {
  const { missing, problem, notAfter, thumbprint } = facts;
  if (missing.length > 0) return no("IncompleteSecret", `Secret ${name} lacks ${missing.join(" and ")}`);
  const wrong = problem ?? timeProblem(facts, now);
  if (wrong !== undefined) return no("Error", `Secret ${name}: ${wrong}`);
  return { usable: true, phase: "Ready", message: readyText(name, facts, announced), notAfter, thumbprint };
}

function timeProblem({ notBefore, notAfter }: ServerFacts, now: Date): string | undefined {
  if (notAfter === undefined || notAfter <= now) {
    return `the certificate expired at ${notAfter?.toISOString() ?? "an unknown time"}: renew it`;
  }
  if (notBefore === undefined || notBefore <= now) return undefined;
  return `the certificate is valid only from ${notBefore.toISOString()}: check clocks`;
}

function no(phase: ServerVerdict["phase"], message: string): ServerVerdict {
  return { usable: false, phase, message };
}

/** Missing names do not keep servers from running, and clients that check no names do not mind. */
function readyText(name: string, { dnsNames }: ServerFacts, announced: readonly string[]): string {
  const uncovered = announced.filter((host) => !dnsNames.some((pattern) => covers(pattern, host)));
  if (uncovered.length === 0) return `the certificate in Secret ${name} is in use`;
  return `the certificate in Secret ${name} is in use, but does not hold ${someOf(uncovered)}: clients that check names refuse these servers; add them, or a wildcard for them`;
}

/** A wildcard stands for one label, the first. */
export function covers(pattern: string, host: string): boolean {
  const [wanted, given] = [host.toLowerCase(), pattern.toLowerCase()];
  if (!given.startsWith("*.")) return wanted === given;
  const dot = wanted.indexOf(".");
  return dot > 0 && wanted.slice(dot) === given.slice(1);
}
