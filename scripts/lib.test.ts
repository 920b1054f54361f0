import { expect, test } from "bun:test";
import { join } from "node:path";
import { firstComment, ROOT } from "./lib.ts";

test("the first comment of a script is its help, without its stars", () => {
  expect(firstComment("/**\n * npm run this\n *   indented\n *\n * Words.\n */\nimport x")).toBe(
    "npm run this\n  indented\n\nWords.",
  );
  expect(firstComment("import x;\n/** no */")).toBe("");
});

const sim = async (...words: readonly string[]) => {
  const child = Bun.spawn([process.execPath, "scripts/sim.ts", ...words], {
    cwd: ROOT,
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { out, err, code };
};

test("--help shows it, and a flag that nobody knows is answered with it", async () => {
  const usage = firstComment(await Bun.file(join(ROOT, "scripts/sim.ts")).text());
  expect(await sim("--help")).toEqual({ out: `${usage}\n`, err: "", code: 0 });
  const wrong = await sim("--sedes", "3");
  expect(wrong).toMatchObject({ out: "", code: 1 });
  expect(wrong.err).toBe(`error: Unknown option '--sedes'\n\n${usage}\n`);
});
