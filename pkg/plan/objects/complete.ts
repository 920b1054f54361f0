/** Values without undefined in them: Kubernetes' types tell an absent field from one that is undefined, our schemas do not. */
export type Complete<T> = T extends readonly (infer Item)[]
  ? Complete<Item>[]
  : T extends object
    ? { [Key in keyof T]: Complete<Exclude<T[Key], undefined>> }
    : T;

/** What was parsed from JSON is complete; anything else is a mistake of ours. */
export function complete<T extends object>(value: T): Complete<T> {
  if (isComplete(value)) return value;
  throw new TypeError("a field of a Kubernetes object is undefined");
}

function isComplete<T extends object>(value: T): value is T & Complete<T> {
  return Object.values(value).every(
    (below: unknown) => below !== undefined && (typeof below !== "object" || below === null || isComplete(below)),
  );
}
