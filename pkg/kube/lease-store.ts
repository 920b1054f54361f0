/** Where a Lease is kept: read, written only over the state that was read, and watched. */
import type { KubeClient, WatchEvent } from "./client.ts";
import { LEASE, type Lease, type LeaseClaim, type LeaseRecord, recordOf, specOf } from "./lease-record.ts";
import type { ObjectRef } from "./resource.ts";

export interface CallLimits {
  readonly signal: AbortSignal;
  readonly deadlineMs: number;
}

export interface LeaseStore {
  readonly name: string;
  read(limits: CallLimits): Promise<LeaseSighting>;
  /** Over `previous`, or as a new one; a KubeError `conflict` or `already-exists` when somebody was faster. */
  write(claim: LeaseClaim, previous: LeaseRecord | undefined, limits: CallLimits): Promise<LeaseRecord>;
  /** Tells the present state, then every change; ends or rejects with the connection. */
  watch(on: (sighting: LeaseSighting) => void, signal: AbortSignal): Promise<void>;
}

export interface LeaseSighting {
  /** Undefined when there is no such Lease. */
  readonly record: LeaseRecord | undefined;
  /** As of when; unknown when a read found nothing. */
  readonly resourceVersion: string | undefined;
}

/** The holder renews every few seconds, so that a silent watch is a broken one. */
const WATCH_IDLE_MS = 30_000;
const WATCH_SECONDS = 600;

export function leaseStore(client: KubeClient, ref: Required<ObjectRef>): LeaseStore {
  const { namespace, name } = ref;
  const selection = { namespace, fieldSelector: `metadata.name=${name}` };
  return {
    name: `${namespace}/${name}`,
    read: async (limits) => sighting(await client.find(LEASE, ref, limits)),
    write: async (claim, previous, limits) => {
      const spec = specOf(claim);
      const fresh = { metadata: ref, spec };
      if (previous === undefined) return recordOf(await client.create(LEASE, fresh, limits));
      const { uid, resourceVersion } = previous;
      const changed = { metadata: { ...ref, uid, resourceVersion }, spec };
      return recordOf(await client.update(LEASE, changed, limits));
    },
    watch: async (on, signal) => {
      const { items, resourceVersion } = await client.list(LEASE, selection, { signal, deadlineMs: 5000 });
      on(items[0] === undefined ? { record: undefined, resourceVersion } : sighting(items[0]));
      await client.watch(
        LEASE,
        { ...selection, resourceVersion, timeoutSeconds: WATCH_SECONDS },
        (event) => tell(event, on),
        { signal, idleMs: WATCH_IDLE_MS, deadlineMs: 5000 },
      );
    },
  };
}

function tell(event: WatchEvent<Lease>, on: (sighting: LeaseSighting) => void): void {
  if (event.type === "DELETED") on({ ...sighting(event.object), record: undefined });
  if (event.type === "ADDED" || event.type === "MODIFIED") on(sighting(event.object));
}

function sighting(lease: Lease | undefined): LeaseSighting {
  return lease === undefined
    ? { record: undefined, resourceVersion: undefined }
    : { record: recordOf(lease), resourceVersion: lease.metadata.resourceVersion };
}
