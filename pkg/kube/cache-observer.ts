/** What a cache tells goes to the metrics and, where a person should know, to the log. */
import type { Logger } from "../log/log.ts";
import type { CacheObserver } from "./cache-options.ts";

export function observeCache(kind: string, metered: CacheObserver, parent: Logger): CacheObserver {
  const log = parent.child({ cache: kind });
  return {
    listed: (reason, objects) => {
      metered.listed?.(reason, objects);
      log.debug({ reason, objects }, "listed");
    },
    frame: (type) => metered.frame?.(type),
    failed: (code, error) => {
      metered.failed?.(code, error);
      // Of a kind that nobody changes some API servers send no bookmark for minutes: looked at again, nothing to tell.
      log[code === "idle" ? "debug" : "warn"]({ code, err: error }, "list or watch failed, trying again");
    },
    compared: (missed) => {
      metered.compared?.(missed);
      if (missed > 0) log.error({ missed }, "the watch had missed changes; repaired");
    },
    unreadable: (key, error) => {
      metered.unreadable?.(key, error);
      log.error({ object: key, err: error }, "object cannot be read and is left out");
    },
    subscriberFailed: (error) => log.error({ err: error }, "a subscriber failed"),
  };
}
