import { beforeAll, expect, test } from "bun:test";
import { installCrds, judge, manifest } from "./api-server.ts";
import { WRONG } from "./fixtures/wrong-specs.ts";

beforeAll(installCrds, 300_000);

for (const { what, kind, name = "wrong", spec, says } of WRONG) {
  test(`${kind}: ${what} is refused, and the refusal says what would be right`, async () => {
    const { code, out, err } = await judge(manifest(kind, name, spec));
    expect(`${code === 0 ? "accepted" : "refused"} ${out}`).toBe("refused ");
    for (const fragment of says) expect(err).toContain(fragment);
  }, 300_000);
}
