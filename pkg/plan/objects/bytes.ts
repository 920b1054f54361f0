/** How many bytes a quantity of Kubernetes is. */
const POWERS: Readonly<Record<string, number>> = {
  "": 1,
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** Rounded up, as Kubernetes does; 0 for none. What the API server has accepted as a quantity is one. */
export function bytesOf(quantity: string | number | undefined): number {
  if (quantity === undefined) return 0;
  const text = String(quantity);
  const match = /^\+?([0-9]*\.?[0-9]*)([KMGTPE]i|[numkMGTPE])?$/.exec(text);
  // The form with an exponent is a number of JavaScript's too.
  if (match === null) return Math.ceil(Number(text));
  return Math.ceil(Number(match[1]) * (POWERS[match[2] ?? ""] ?? 1));
}
