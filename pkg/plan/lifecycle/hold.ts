/** A named reason why something that is wanted does not happen; the shape that every plan uses. */
export interface Hold {
  readonly name: string;
  readonly reason: string;
}

/** A change of the spec that waits. */
export interface HeldChange extends Hold {
  /** Below `spec`. */
  readonly field: string;
}
