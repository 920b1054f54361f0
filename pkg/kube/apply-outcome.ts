/** What came of wanting an object: a value for everything that a controller has to expect. */
export type ApplyOutcome<T> =
  /** The server has it as wanted; nothing was sent. */
  | { readonly did: "nothing" }
  /** It was not there. */
  | { readonly did: "create"; readonly object: T }
  /** We want something else than before. */
  | { readonly did: "change"; readonly object: T }
  /** Somebody else had changed what is ours; `path` is the first such field (never its value). */
  | { readonly did: "repair"; readonly object: T; readonly path: string }
  /** Somebody keeps changing what is ours: repaired so often that we wait before the next time. */
  | { readonly did: "contested"; readonly path: string; readonly retryInMs: number }
  /** An object of this name is there and is not ours: it is left alone. */
  | { readonly did: "foreign"; readonly why: string }
  /** It is being deleted; wait until it is gone. */
  | { readonly did: "terminating" };

export type RemoveOutcome =
  | { readonly did: "delete" }
  /** Finalizers or a grace period still hold it. */
  | { readonly did: "terminating" }
  /** It was gone already. */
  | { readonly did: "nothing" }
  /** It is not the one that was decided on, or it changed since. */
  | { readonly did: "changed" };
