import { expect, test } from "bun:test";
import { whenReachable } from "./reachable.ts";

function failing(times: number, words: string): () => Promise<number> {
  let calls = 0;
  return async () => {
    calls += 1;
    if (calls <= times) throw new Error(words);
    return calls;
  };
}

test("what did not get through is done again", async () => {
  const refused = "The connection to the server 10.0.0.1:6443 was refused - did you specify the right host or port?";
  expect(await whenReachable(failing(1, refused))).toBe(2);
});

test("an answer is an answer, also when it is no", async () => {
  const no = failing(1, 'Error from server (NotFound): pods "a" not found');
  expect(await whenReachable(no).catch(String)).toContain("not found");
});
