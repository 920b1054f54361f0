import { expect, test } from "bun:test";
import { join } from "node:path";
import project from "../package.json";
import { ROOT } from "../scripts/lib.ts";
import { containerfile } from "./containerfile.ts";
import { IMAGES, USER } from "./files.ts";

test.each(IMAGES.map((spec) => [spec.id, spec] as const))(
  "%s: the committed Containerfile is the list's",
  async (id, spec) => {
    const committed = await Bun.file(join(ROOT, "images", `${id}.Containerfile`)).text();
    expect(committed).toBe(containerfile(spec, project.version));
  },
);

test.each(IMAGES.map((spec) => [spec.id, spec] as const))(
  "%s: every file of the list is copied to its place",
  (_, spec) => {
    const copies = containerfile(spec, "1.0")
      .split("\n")
      .filter((line) => line.startsWith("COPY"))
      .map((line) => line.split(" ").slice(-2));
    expect(copies).toEqual(
      spec.files.map(({ from, to }) => [from.startsWith("dist/") ? `${from}\${SUFFIX}` : from, to]),
    );
  },
);

test("images run as a user without rights, and name a program that is in them", () => {
  for (const spec of IMAGES) {
    expect(containerfile(spec, "1.0")).toContain(`\nUSER ${USER.id}:${USER.id}\n`);
    expect(spec.files.map(({ to }) => to)).toContain(spec.entrypoint[0] ?? "");
  }
});
