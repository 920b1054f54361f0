/** The same work for many, several at a time: one that fails does not keep the others from being done. */

const AT_ONCE = 16;

/** Rejects after all are done, with the only error or with an AggregateError of all. */
export async function sideBySide<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  const errors: unknown[] = [];
  const worker = async () => {
    for (const item of queue) {
      try {
        await work(item);
      } catch (error) {
        errors.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, worker));
  if (errors.length === 1) throw errors[0] instanceof Error ? errors[0] : new Error(String(errors[0]));
  if (errors.length > 1) throw new AggregateError(errors, textOf(errors));
}

function textOf(errors: readonly unknown[]): string {
  const first = errors[0] instanceof Error ? errors[0].message : String(errors[0]);
  return `${first} (and ${errors.length - 1} more)`;
}
