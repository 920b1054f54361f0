/**
 * A message without content travels as an empty frame, which HTTP/2 stacks count as a nuisance: after a thousand of them
 * (their default) they would end the session under the calls on it. Both ends of our sessions are known to each other and
 * may send nothing as often as they like.
 */
export const EMPTY_FRAMES = 2 ** 32 - 1;
