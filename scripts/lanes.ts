/** Work that is done beside other work. */

/**
 * Every lane takes the next of the work when it is done with its last: the first lane from the front, all others from
 * the end. So what stands in front is never done beside its like.
 */
export async function inLanes<Work, Lane, Result>(
  work: readonly Work[],
  lanes: readonly Lane[],
  act: (one: Work, lane: Lane) => Promise<Result>,
): Promise<Result[]> {
  const queue = [...work];
  const results: Result[] = [];
  const follow = async (lane: Lane, index: number) => {
    const next = () => (index === 0 ? queue.shift() : queue.pop());
    for (let one = next(); one !== undefined; one = next()) results.push(await act(one, lane));
  };
  await Promise.all(lanes.map(follow));
  return results;
}
