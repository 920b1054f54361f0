import { describe, expect, test } from "bun:test";
import { checkVersion, mmdebstrap } from "./debian.ts";
import { field } from "./debian-package.ts";

const libc = { name: "libc6", version: "2.36-9", architecture: "amd64", sha256: "", control: "", files: [] };

describe("the version of a package", () => {
  test.each(["8.1.3+dfsg1-1", "1:8.1.0-2"])("%p is taken for 8.1.", (version) => {
    expect(() => checkVersion({ ...libc, version }, recipe({ libc6: "8.1." }))).not.toThrow();
  });

  test.each(["8.10.0-1", "9.1.0-1"])("%p is refused for 8.1., and the refusal names both", (version) => {
    const refused = () => checkVersion({ ...libc, version }, recipe({ libc6: "8.1." }));
    expect(refused).toThrow(`Debian sid now has libc6 ${version}, asked for was 8.1.x`);
  });

  test("is whatever the suite has when nothing is asked for", () => {
    expect(() => checkVersion(libc, recipe({ other: "8.1." }))).not.toThrow();
    expect(() => checkVersion(libc, { suite: "sid", packages: ["libc6"] })).not.toThrow();
  });
});

function recipe(versions: Record<string, string>) {
  return { suite: "sid", packages: ["libc6"], versions };
}

test("packages of another architecture are unpacked, never run", () => {
  const command = mmdebstrap({ suite: "bookworm", packages: ["libc6", "b"], architecture: "arm64" }, "/out.tar");
  expect(command).toContain("--variant=extract");
  expect(command).toContain("--architectures=arm64");
  expect(command.slice(-3)).toEqual(["--include=libc6,b", "bookworm", "/out.tar"]);
});

test("a field is found by its whole name, and a missing one is said", () => {
  const control = "Package: libc6\nPre-Version: 1\nVersion: 2.36-9\nDescription: C\n Version: of a text\n";
  expect(field(control, "Version")).toBe("2.36-9");
  expect(() => field(control, "Architecture")).toThrow("Architecture");
});
