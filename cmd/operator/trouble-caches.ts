/** What is watched only to tell what is wrong. */
import {
  FAILED_CREATES,
  FAILED_CREATES_SELECTOR,
  type FailedCreate,
} from "../../pkg/controllers/trouble/failed-creates.ts";
import { KNOWN_STORAGE_CLASSES, type StorageClass } from "../../pkg/controllers/trouble/storage-classes.ts";
import type { Cache } from "../../pkg/kube/cache.ts";
import type { Caches } from "./caches.ts";
import type { OperatorFlags } from "./flags.ts";

export interface TroubleCaches {
  readonly failedCreates: Cache<FailedCreate>;
  /** Only with the rights of the whole cluster. */
  readonly storageClasses?: Cache<StorageClass>;
}

export function troubleCaches(flags: OperatorFlags, caches: Caches): TroubleCaches {
  return {
    failedCreates: caches.add(FAILED_CREATES, { fieldSelector: FAILED_CREATES_SELECTOR }),
    ...(flags.watchScope === "cluster" ? { storageClasses: caches.add(KNOWN_STORAGE_CLASSES) } : {}),
  };
}
