/**
 * scripts/bun scripts/keep-schemas.ts [--overwrite]
 *
 * Keeps today's schemas as those of the release in package.json, under test/api-released. Done once at each release; from
 * then on a test fails on every change that would break an object stored under them. --overwrite is for a release that
 * nobody has yet.
 */
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { KINDS } from "../pkg/api/api.ts";
import { release } from "./generate-api.ts";
import { main, ROOT, run, Trouble } from "./lib.ts";

await main(async () => {
  const folder = join(ROOT, "test/api-released", `v${await release()}`);
  await mkdir(folder, { recursive: true });
  const kept = await readdir(folder);
  if (kept.length > 0 && !process.argv.includes("--overwrite")) {
    throw new Trouble(`${folder} exists: a released schema is not changed; raise the version in package.json first`);
  }
  for (const { names, openApi } of KINDS) {
    const content = { plural: names.plural, schema: openApi };
    await Bun.write(join(folder, `${names.plural}.json`), JSON.stringify(content, null, 2));
  }
  await run(["node_modules/.bin/biome", "format", "--write", folder]);
});
