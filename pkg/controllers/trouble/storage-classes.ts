/** StorageClasses, as far as claims that wait for one or are to grow are concerned. */
import * as v from "valibot";
import { ObjectMetaSchema, type Resource, STORAGE_CLASSES, typed } from "../../kube/resource.ts";

const DEFAULT = "storageclass.kubernetes.io/is-default-class";

const StorageClass = v.pipe(
  v.object({ metadata: ObjectMetaSchema, allowVolumeExpansion: v.optional(v.boolean(), false) }),
  v.transform(({ metadata: { name, uid, resourceVersion, annotations }, allowVolumeExpansion }) => ({
    metadata: { name, uid, resourceVersion },
    growsVolumes: allowVolumeExpansion,
    isDefault: annotations?.[DEFAULT] === "true",
  })),
);
export type StorageClass = v.InferOutput<typeof StorageClass>;

export const KNOWN_STORAGE_CLASSES: Resource<StorageClass> = typed(STORAGE_CLASSES, (value) =>
  v.parse(StorageClass, value),
);
