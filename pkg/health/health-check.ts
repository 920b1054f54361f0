/** Named checks and what they say. A check that throws or hangs is a failed one: kubelet must always get its answer. */

/** Undefined: all is well. Otherwise what is wrong, in words. */
export type Check = (signal: AbortSignal) => string | undefined | Promise<string | undefined>;

export interface CheckResult {
  readonly name: string;
  readonly problem: string | undefined;
}

export async function runChecks(
  checks: ReadonlyMap<string, Check>,
  deadlineMs: number,
): Promise<readonly CheckResult[]> {
  return Promise.all([...checks].map(async ([name, check]) => ({ name, problem: await runCheck(check, deadlineMs) })));
}

async function runCheck(check: Check, deadlineMs: number): Promise<string | undefined> {
  const deadline = new AbortController();
  const late = Promise.withResolvers<string>();
  const timer = setTimeout(() => late.resolve(`no answer within ${deadlineMs} ms`), deadlineMs);
  try {
    return await Promise.race([invoke(check, deadline.signal), late.promise]);
  } catch (error) {
    return `the check failed: ${error instanceof Error ? error.message : String(error)}`;
  } finally {
    clearTimeout(timer);
    deadline.abort();
  }
}

/** async, so that a throw before the first await is a rejection like any other. */
async function invoke(check: Check, signal: AbortSignal): Promise<string | undefined> {
  return check(signal);
}

/** One line a check, as Kubernetes' own programs print it, then the verdict. */
export function report(what: string, results: readonly CheckResult[]): string {
  const lines = results.map(({ name, problem }) =>
    problem === undefined ? `[+]${name} ok` : `[-]${name} failed: ${problem}`,
  );
  const good = results.every(({ problem }) => problem === undefined);
  return `${[...lines, `${what} check ${good ? "passed" : "failed"}`].join("\n")}\n`;
}
