/** How a held change is told. */

export interface HeldWords {
  readonly runs: string;
  readonly field: string;
  readonly what: string;
  readonly asked: string | undefined;
  readonly back: string | undefined;
}

/** What runs, what was asked for, that nothing was done about it, and how to go back. */
export function heldReason({ runs, field, what, asked, back }: HeldWords): string {
  const wish = asked === undefined ? `spec.${field} was taken away` : `spec.${field} asks for ${asked}`;
  const undo = back === undefined ? `remove spec.${field}` : `set spec.${field} to ${back}`;
  return `${runs}, ${wish}: this release cannot ${what} of a running cluster, so nothing was changed; to clear this, ${undo} (or the default that it comes from)`;
}
