/**
 * A model of an operator and the agents of a cluster in which every change arrives late: Secrets are written at once,
 * processes take over what is in them when they like. For properties of the plans.
 */
import type { ValkeyCASpec } from "../../api/ca.ts";
import type { ValkeyCertificateBundleSpec } from "../../api/certificate-bundle.ts";
import { type CAStep, planCA, type Root, type RootUsers } from "../ca.ts";
import { planBundle } from "./bundle.ts";
import { type LeafInput, type LeafStep, type ProcessSight, planLeaves } from "./leaves.ts";
import { type AuthorityView, type CertificateView, type Held, sameSet } from "./view.ts";

const MINUTE = 60_000;
const DAY = 86_400_000;
export const LEAF_MS = 20 * MINUTE;
const INTERMEDIATE_MS = 40 * DAY;
const ROOT_MS = 100 * DAY;

const CA_SPEC: ValkeyCASpec = { caCertSecretRef: "root", secretType: "Secret", validForDays: 100 };
const BUNDLE_SPEC: ValkeyCertificateBundleSpec = {
  caRef: "root",
  purpose: "mtls",
  certSecretRef: "a",
  keySecretRef: "a",
};

/** A process with the identity that it uses now. */
export interface Process {
  readonly name: string;
  uses: Held;
  sight: ProcessSight;
}

interface Group {
  readonly name: string;
  intermediate: CertificateView;
  readonly secrets: Map<string, CertificateView>;
}

export class World {
  now = Date.UTC(2030, 0, 1);
  root: Root;
  wish: string | undefined;
  /** Since a root was lost nothing is promised between the operator and agents that have not moved on. */
  lost = false;
  readonly agents: Process[];
  /** Replicas: they read one Secret, each in its time. */
  readonly replicas: Process[];
  readonly #cluster: Group;
  readonly #operator: Group;
  #count = 0;

  constructor(agents: number) {
    this.root = this.#newRoot();
    this.#cluster = this.#newGroup(
      "cluster",
      Array.from({ length: agents }, (_, index) => `agent-${index}`),
    );
    this.#operator = this.#newGroup("operator", ["operator"]);
    this.agents = [...this.#cluster.secrets.keys()].map((name) => this.#start(name, this.#cluster, name));
    this.replicas = ["replica-0", "replica-1"].map((name) => this.#start(name, this.#operator, "operator"));
  }

  /** One look of every controller, in the order given. */
  reconcile(order: readonly ("ca" | "bundles" | "leaves" | "operator")[], pushed: (agent: string) => boolean): void {
    for (const controller of order) {
      if (controller === "ca") this.#reconcileCA();
      else if (controller === "bundles")
        for (const group of [this.#cluster, this.#operator]) this.#reconcileBundle(group);
      else if (controller === "leaves") this.#reconcileLeaves(pushed);
      else this.#reconcileOperator();
    }
  }

  /** The process takes over what its Secret holds. */
  adopt({ name }: Process): void {
    const agent = this.agents.find((each) => each.name === name);
    const replica = this.replicas.find((each) => each.name === name);
    if (agent !== undefined) agent.uses = held(this.#cluster.secrets.get(name));
    if (replica !== undefined) replica.uses = held(this.#operator.secrets.get("operator"));
  }

  isCurrent(process: Process): boolean {
    const secret = this.#cluster.secrets.get(process.name) ?? this.#operator.secrets.get("operator");
    return secret?.found === "certificate" && secret.sequence === process.uses.sequence;
  }

  /** A new leader remembers no handshake. */
  forgetSights(): void {
    for (const agent of this.agents) agent.sight = UNSEEN;
  }

  restart(agent: Process): void {
    this.adopt(agent);
    agent.sight = UNSEEN;
  }

  /** The Secret of the root is gone, and with it all that is known of it: another one is made. */
  loseRoot(): void {
    this.root = this.#newRoot();
    this.lost = true;
  }

  loseIntermediate(): void {
    this.#cluster.intermediate = { found: "nothing" };
  }

  get settled(): boolean {
    const under = (each: Held) => each.root === this.root.thumbprint && each.trusts.length === 1;
    return (
      this.root.next === undefined &&
      this.root.old.length === 0 &&
      [...this.agents, ...this.replicas].every(({ uses }) => under(uses))
    );
  }

  /** Why one process would refuse another; undefined when all talk. */
  refusal(): string | undefined {
    for (const a of this.agents)
      for (const b of this.agents) {
        const why = this.#refuses(a, b);
        if (why !== undefined) return why;
      }
    if (this.lost) return undefined;
    for (const a of this.agents)
      for (const b of this.replicas) {
        const why = this.#refuses(a, b) ?? this.#refuses(b, a);
        if (why !== undefined) return why;
      }
    return undefined;
  }

  #refuses(who: Process, whom: Process): string | undefined {
    if (whom.uses.notAfter.getTime() <= this.now) return `${whom.name} shows an expired certificate`;
    if (whom.uses.root !== undefined && who.uses.trusts.includes(whom.uses.root)) return undefined;
    return `${who.name} (trusts ${who.uses.trusts.join()}) refuses ${whom.name} (under ${whom.uses.root})`;
  }

  #id(what: string): string {
    this.#count += 1;
    return `${what}-${this.#count}`;
  }

  #date(ms = 0): Date {
    return new Date(this.now + ms);
  }

  #newRoot(): Root {
    return {
      thumbprint: this.#id("root"),
      notBefore: this.#date(),
      notAfter: this.#date(ROOT_MS),
      made: true,
      old: [],
    };
  }

  #newGroup(name: string, members: readonly string[]): Group {
    const group: Group = { name, intermediate: this.#issueIntermediate(), secrets: new Map() };
    for (const member of members) group.secrets.set(member, this.#issueLeaf(group, this.#authority().trusted));
    return group;
  }

  #start(name: string, group: Group, secret: string): Process {
    return { name, uses: held(group.secrets.get(secret)), sight: UNSEEN };
  }

  #authority(): AuthorityView & { ready: true } {
    const { thumbprint, notAfter, next, old } = this.root;
    const trusted = [thumbprint, next?.thumbprint, ...old.map((each) => each.thumbprint)];
    return {
      ready: true,
      root: thumbprint,
      notAfter,
      next: next?.thumbprint,
      trusted: trusted.filter((each) => each !== undefined),
    };
  }

  #issueIntermediate(): CertificateView {
    const root = this.root.thumbprint;
    const life = { notBefore: this.#date(), notAfter: this.#date(INTERMEDIATE_MS) };
    const thumbprint = this.#id("intermediate");
    const trustSince = this.#date();
    return {
      found: "certificate",
      thumbprint,
      issuer: root,
      root,
      trusts: [root],
      request: "",
      sequence: 0,
      trustSince,
      ...life,
    };
  }

  #issueLeaf({ intermediate }: Group, trusts: readonly string[], before?: CertificateView): CertificateView {
    const { thumbprint: issuer, root } = held(intermediate);
    const same = held(before).root === root && sameSet(held(before).trusts, trusts);
    const trustSince = same ? held(before).trustSince : this.#date();
    const life = { notBefore: this.#date(), notAfter: this.#date(LEAF_MS) };
    this.#count += 1;
    return {
      found: "certificate",
      thumbprint: this.#id("leaf"),
      issuer,
      root,
      trusts,
      request: "",
      sequence: this.#count,
      trustSince,
      ...life,
    };
  }

  #reconcileCA(): void {
    const input = {
      spec: CA_SPEC,
      root: { found: "root", ...this.root } as const,
      users: this.#users(),
      rotation: this.wish,
    };
    for (const step of planCA(input, this.#date()).steps) this.#changeRoot(step);
  }

  #changeRoot({ do: step }: CAStep): void {
    const { root } = this;
    const { next } = root;
    const left = { thumbprint: root.thumbprint, notAfter: root.notAfter };
    if (step === "make-next-root") {
      this.root = { ...root, rotation: this.wish, next: { thumbprint: this.#id("root"), since: this.#date() } };
    } else if (step === "sign-with-next-root" && next !== undefined) {
      const fresh = { ...this.#newRoot(), thumbprint: next.thumbprint, rotation: root.rotation };
      this.root = { ...fresh, old: [...root.old, left], signsSince: this.#date() };
    } else if (step === "drop-old-roots") this.root = { ...root, old: [] };
  }

  /** As the operator computes it from its caches and its sights. */
  #users(): RootUsers {
    const leaves = [...this.#cluster.secrets, ...this.#operator.secrets].map(([name, view]) => ({
      name,
      held: held(view),
    }));
    const sightOf = (name: string) => this.agents.find((agent) => agent.name === name)?.sight;
    const next = this.root.next?.thumbprint;
    const distrusting = leaves.filter(
      (leaf) =>
        next !== undefined &&
        !(leaf.held.trusts.includes(next) && (sightOf(leaf.name)?.accepts.includes(next) ?? true)),
    );
    const behind = leaves.filter(
      (leaf) =>
        leaf.held.root !== this.root.thumbprint ||
        (sightOf(leaf.name)?.shows ?? leaf.held.thumbprint) !== leaf.held.thumbprint ||
        (sightOf(leaf.name) !== undefined && sightOf(leaf.name)?.shows === undefined),
    );
    const stale = [this.#cluster, this.#operator].filter(
      (group) => held(group.intermediate).root !== this.root.thumbprint,
    );
    return {
      distrusting: distrusting.map(({ name }) => name),
      behind: [...behind, ...stale].map(({ name }) => name),
      operatorSince: held(this.#operator.secrets.get("operator")).trustSince,
    };
  }

  #reconcileBundle(group: Group): void {
    const input = { spec: BUNDLE_SPEC, authority: this.#authority(), held: group.intermediate, request: "" };
    if (planBundle(input, this.#date()).steps.length > 0) group.intermediate = this.#issueIntermediate();
  }

  #reconcileOperator(): void {
    const plan = planLeaves(this.#input(this.#operator), this.#date());
    for (const step of plan.steps) this.#write(this.#operator, step);
  }

  #reconcileLeaves(pushed: (agent: string) => boolean): void {
    const plan = planLeaves(this.#input(this.#cluster), this.#date());
    for (const step of plan.steps) {
      this.#write(this.#cluster, step);
      for (const name of step.names) {
        const agent = this.agents.find((each) => each.name === name);
        // Who does not trust the operator, or is not trusted by it, cannot be pushed to.
        if (agent !== undefined && pushed(name) && this.#talks(agent)) this.adopt(agent);
        if (agent !== undefined && step.do === "verify-processes") agent.sight = this.#look(agent, step.roots);
      }
    }
  }

  #talks(agent: Process): boolean {
    const [leader] = this.replicas;
    return (
      leader !== undefined && this.#refuses(agent, leader) === undefined && this.#refuses(leader, agent) === undefined
    );
  }

  /** Only roots that the operator can come under are asked about: its own, and the next one. */
  #look(agent: Process, roots: readonly string[]): ProcessSight {
    const own = this.replicas[0]?.uses.root;
    const can = roots.filter((root) => root === own || root === this.root.next?.thumbprint);
    const accepts = [...agent.sight.accepts, ...can.filter((root) => agent.uses.trusts.includes(root))];
    return { shows: agent.uses.thumbprint, accepts: [...new Set(accepts)], lookAt: this.#date(1000) };
  }

  #input(group: Group): LeafInput {
    const members = [...group.secrets].map(([name, view]) => ({
      name,
      request: "",
      held: view,
      process: this.agents.find((agent) => agent.name === name)?.sight,
    }));
    const { intermediate } = group;
    return { deployment: group.name, authority: this.#authority(), intermediate, members, rotateBeforePercent: 66 };
  }

  #write(group: Group, step: LeafStep): void {
    if (step.do === "verify-processes") return;
    for (const name of step.names) {
      const before = group.secrets.get(name);
      this.#count += 1;
      const same = {
        found: "certificate",
        ...held(before),
        trusts: step.roots,
        sequence: this.#count,
        trustSince: this.#date(),
      } as const;
      group.secrets.set(name, step.do === "change-trust" ? same : this.#issueLeaf(group, step.roots, before));
    }
  }
}

const UNSEEN: ProcessSight = { shows: undefined, accepts: [], lookAt: new Date(0) };

function held(view: CertificateView | undefined): Held {
  if (view?.found === "certificate") return view;
  return {
    thumbprint: "none",
    notBefore: new Date(0),
    notAfter: new Date(0),
    issuer: undefined,
    root: undefined,
    trusts: [],
    request: "",
    sequence: 0,
    trustSince: new Date(0),
  };
}
