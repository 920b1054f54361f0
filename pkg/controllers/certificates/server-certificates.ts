/**
 * The certificates with which the servers of clusters speak TLS: issued by the operator, or somebody else's, read by
 * their name. Whoever needs one gets its texts, or in plain words why there is none.
 */
import type { ValkeyCluster } from "../../api/cluster.ts";
import type { ValkeyClusterTls } from "../../api/cluster-tls.ts";
import { type Clock, systemClock } from "../../clock/clock.ts";
import type { Cache } from "../../kube/cache.ts";
import type { Source } from "../../kube/controller.ts";
import type { NamedCaches } from "../../kube/named-caches.ts";
import { keyOf, keyOfRef, type LooseObject, type ObjectRef } from "../../kube/resource.ts";
import {
  judgeServer,
  type ServerQuestion,
  type ServerSecret,
  type ServerVerdict,
} from "../../plan/certificates/server.ts";
import { announcedHost, serverTlsSecretName } from "../../plan/objects/names.ts";
import type { Given, TlsInput, TlsMaterial } from "../../plan/objects/types.ts";
import type { ClusterSpecs } from "./cluster-specs.ts";
import { textIn } from "./config-text.ts";
import type { ServerSecretObject } from "./server-secret.ts";

export interface ServerCertificatesDeps {
  readonly specs: ClusterSpecs;
  readonly clusters: Cache<ValkeyCluster>;
  readonly tls: Cache<ValkeyClusterTls>;
  /** Those that the operator issued. */
  readonly own: Cache<ServerSecretObject>;
  /** Those of others. */
  readonly external: NamedCaches<ServerSecretObject>;
  /** ConfigMaps with Diffie-Hellman parameters. */
  readonly parameters: NamedCaches<LooseObject>;
  readonly clock?: Clock;
}

export class ServerCertificates {
  readonly #deps: ServerCertificatesDeps;

  constructor(deps: ServerCertificatesDeps) {
    this.#deps = deps;
    deps.tls.subscribe(({ type, object }) => this.#follow(object, type !== "delete"));
  }

  /** What a cluster whose spec names a ValkeyClusterTls needs to know; undefined when it names none. */
  tlsOf(cluster: ValkeyCluster): Given<TlsInput> | undefined {
    const name = this.#deps.specs.of(cluster).tls;
    if (name === undefined) return undefined;
    const tls = this.#deps.tls.get({ namespace: cluster.metadata.namespace, name });
    if (tls === undefined) {
      const where = cluster.metadata.namespace ?? "";
      return {
        missing: `ValkeyClusterTls ${name}, which spec.tls names, does not exist in namespace ${where}: create it`,
      };
    }
    return { value: { spec: tls.spec, material: this.#material(cluster, tls) } };
  }

  /** The texts that the cluster's servers are to use now, or why there are none; undefined without TLS. */
  serverCertificateOf(cluster: ValkeyCluster): Given<TlsMaterial> | undefined {
    const tls = this.tlsOf(cluster);
    return tls === undefined || "missing" in tls ? tls : tls.value.material;
  }

  /** The clusters that use it. */
  usersOf(tls: ValkeyClusterTls): readonly ValkeyCluster[] {
    const { name, namespace } = tls.metadata;
    return this.#deps.clusters
      .list()
      .filter((cluster) => cluster.metadata.namespace === namespace && this.#deps.specs.of(cluster).tls === name);
  }

  verdict(cluster: ValkeyCluster, tls: ValkeyClusterTls, now: Date): ServerVerdict {
    return judgeServer(this.question(cluster, tls), now);
  }

  question(cluster: ValkeyCluster, tls: ValkeyClusterTls): ServerQuestion {
    const { name, namespace = "" } = cluster.metadata;
    const ref = refFor(cluster, tls);
    const own = tls.spec.externalCerts === undefined;
    return {
      name: ref.name,
      own,
      secret: this.#secret(ref, own),
      announced: this.#deps.specs.nodeNames(cluster).map((node) => announcedHost({ name, namespace }, node)),
    };
  }

  /** Without clusters there is nobody whose names could be asked for. */
  externalQuestion({ metadata, spec }: ValkeyClusterTls): ServerQuestion | undefined {
    const name = spec.externalCerts;
    if (name === undefined) return undefined;
    const secret = this.#secret({ namespace: metadata.namespace, name }, false);
    return { name, own: false, secret, announced: [] };
  }

  /** Wakes with the key of every cluster whose TLS may have changed. */
  readonly source: Source = {
    subscribe: (wake) => this.#changes((tls) => this.usersOf(tls), wake),
  };

  /** Wakes with the key of every ValkeyClusterTls that may have changed. */
  readonly tlsSource: Source = {
    subscribe: (wake) => {
      const ends = [
        this.#changes((tls) => [tls], wake),
        // Which names are asked for depends on who uses it.
        this.#deps.clusters.subscribe((change) => {
          for (const cluster of "old" in change ? [change.old, change.object] : [change.object]) {
            const name = this.#deps.specs.of(cluster).tls;
            if (name !== undefined) wake(keyOfRef({ namespace: cluster.metadata.namespace, name }), "normal");
          }
        }),
      ];
      return () => {
        for (const end of ends) end();
      };
    },
  };

  #changes(
    touched: (tls: ValkeyClusterTls) => readonly (ValkeyCluster | ValkeyClusterTls)[],
    wake: (key: string, priority: "normal") => void,
  ): () => void {
    const { tls, own, external, parameters } = this.#deps;
    const tell = (one: ValkeyClusterTls) => {
      for (const each of touched(one)) wake(keyOf(each), "normal");
    };
    const bySecret = (key: string) => {
      for (const one of tls.list()) if (this.#names(one).has(key)) tell(one);
    };
    const ends = [
      tls.subscribe(({ object }) => tell(object)),
      own.subscribe(({ object }) => bySecret(keyOf(object))),
      external.subscribe(({ object }) => bySecret(keyOf(object))),
      external.onKnown(bySecret),
      parameters.subscribe(({ object }) => bySecret(keyOf(object))),
      parameters.onKnown(bySecret),
    ];
    return () => {
      for (const end of ends) end();
    };
  }

  /** Keys of all that it is made of. */
  #names(tls: ValkeyClusterTls): ReadonlySet<string> {
    const { namespace } = tls.metadata;
    const dh = tls.spec.tlsDhParamsFile?.valueFrom.configMapKeyRef.name;
    const refs = this.usersOf(tls).map((cluster) => refFor(cluster, tls));
    const named = [tls.spec.externalCerts, dh].flatMap((name) => (name === undefined ? [] : [{ namespace, name }]));
    return new Set([...refs, ...named].map(keyOfRef));
  }

  #follow(tls: ValkeyClusterTls, there: boolean): void {
    const { namespace } = tls.metadata;
    const refs = (name: string | undefined) => (there && name !== undefined ? [{ namespace, name }] : []);
    this.#deps.external.want(keyOf(tls), refs(tls.spec.externalCerts));
    this.#deps.parameters.want(keyOf(tls), refs(tls.spec.tlsDhParamsFile?.valueFrom.configMapKeyRef.name));
  }

  #secret(ref: ObjectRef, own: boolean): ServerSecret {
    const object = this.#object(ref, own);
    if (object === "unknown") return { is: "unknown" };
    return object === undefined ? { is: "absent" } : { is: "there", facts: object.facts };
  }

  #object(ref: ObjectRef, own: boolean): ServerSecretObject | undefined | "unknown" {
    if (own) return this.#deps.own.get(ref);
    const found = this.#deps.external.find(ref);
    if (found.is === "unknown") return "unknown";
    return found.is === "there" ? found.object : undefined;
  }

  #material(cluster: ValkeyCluster, tls: ValkeyClusterTls): Given<TlsMaterial> {
    const now = new Date((this.#deps.clock ?? systemClock).wall());
    const verdict = this.verdict(cluster, tls, now);
    const object = this.#object(refFor(cluster, tls), tls.spec.externalCerts === undefined);
    if (!verdict.usable || object === undefined || object === "unknown") return { missing: verdict.message };
    const { certificate, key, authorities } = object;
    const dhParams = this.#parameters(tls);
    if (dhParams !== undefined && "missing" in dhParams) return dhParams;
    return {
      value: { certificate, key, authorities, ...(dhParams === undefined ? {} : { dhParams: dhParams.value }) },
    };
  }

  #parameters({ metadata, spec }: ValkeyClusterTls): Given<string> | undefined {
    const ref = spec.tlsDhParamsFile?.valueFrom.configMapKeyRef;
    if (ref === undefined) return undefined;
    const found = this.#deps.parameters.find({ namespace: metadata.namespace, name: ref.name });
    const text = found.is === "there" ? textIn(found.object, ref.key) : undefined;
    if (text !== undefined) return { value: text };
    return {
      missing: `ConfigMap ${ref.name} with key ${ref.key}, which tlsDhParamsFile names, is not there: create it`,
    };
  }
}

/** Where the certificate of a cluster is. */
export function refFor(cluster: ValkeyCluster, { spec }: ValkeyClusterTls): Required<ObjectRef> {
  const { name, namespace = "" } = cluster.metadata;
  return { namespace, name: spec.externalCerts ?? serverTlsSecretName(name, spec.tlsSecretName) };
}
