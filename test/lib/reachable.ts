/** What kubectl says when it did not get through: nothing of what it was asked has been done, it may be asked again. */
const NOT_DONE = [
  /was refused - did you specify the right host or port/u,
  /dial tcp \S+: connect: connection refused/u,
  /TLS handshake timeout/u,
  /error dialing backend/u,
  /no endpoints available for service/u,
  /the server is currently unable to handle the request/u,
  // A new namespace gets its first ServiceAccount a moment later; no pod is taken before.
  /error looking up service account/u,
];

const PATIENCE_MS = 30_000;
const PAUSE_MS = 200;

export function wasNotDone(words: string): boolean {
  return NOT_DONE.some((one) => one.test(words));
}

/** Does it again for a while when it failed without having done anything. An attempt may take as long as it likes. */
export async function whenReachable<T>(work: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!wasNotDone(String(error)) || performance.now() > deadline) throw error;
    }
    await Bun.sleep(PAUSE_MS);
  }
}
