/** Work that is done beside other work. */

/** Every lane takes the next of the work when it is done with its last. */
export async function inLanes<Work, Lane, Result>(
  work: readonly Work[],
  lanes: readonly Lane[],
  act: (one: Work, lane: Lane) => Promise<Result>,
): Promise<Result[]> {
  const queue = [...work];
  const results: Result[] = [];
  const follow = async (lane: Lane) => {
    for (let one = queue.shift(); one !== undefined; one = queue.shift()) results.push(await act(one, lane));
  };
  await Promise.all(lanes.map(follow));
  return results;
}
