/** When a certificate is replaced: at a percentage of its life, early enough that a failed try can be repeated. */

export const ROTATE_BEFORE_PERCENT = { min: 66, max: 80, standard: 75 } as const;

/** A percent outside 66 to 80 is taken as the nearer bound: what is decided here must never be "too late". */
export function whenToRotate(notBefore: Date, notAfter: Date, percent: number): Date {
  const { min, max } = ROTATE_BEFORE_PERCENT;
  const bounded = Number.isFinite(percent) ? Math.min(max, Math.max(min, percent)) : min;
  const life = Math.max(0, notAfter.getTime() - notBefore.getTime());
  return new Date(notBefore.getTime() + Math.floor((life * bounded) / 100));
}
