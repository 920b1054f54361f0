import { expect, test } from "bun:test";
import { bundleInputs, type Lockfile, packageGraph, readLockfile, sbom } from "./sbom.ts";

const inputs = {
  "cmd/main.ts": { imports: [{ path: "../elsewhere/node_modules/@a/one/x.js" }, { path: "node:fs" }] },
  "../elsewhere/node_modules/@a/one/x.js": {
    imports: [
      { path: "../elsewhere/node_modules/@a/one/y.js" },
      { path: "../elsewhere/node_modules/@a/one/node_modules/two/z.js" },
    ],
  },
  "../elsewhere/node_modules/@a/one/y.js": { imports: [] },
  "../elsewhere/node_modules/@a/one/node_modules/two/z.js": { imports: [] },
};
const lockfile: Lockfile = {
  packages: {
    "node_modules/@a/one": { version: "1.0.0", license: "(MIT AND 0BSD)", integrity: "sha512-AAEC" },
    "node_modules/@a/one/node_modules/two": { version: "2.0.0", license: "MIT" },
    "node_modules/unused": { version: "3.0.0" },
    "node_modules/runtime": { version: "9.0.0" },
  },
};
const request = { name: "thing", version: "1", graph: packageGraph(inputs), lockfile, runtime: "runtime", debian: [] };

test("files of the bundle become packages and what each of them uses", () => {
  expect(packageGraph(inputs)).toEqual(
    new Map([
      ["", new Set(["node_modules/@a/one"])],
      ["node_modules/@a/one", new Set(["node_modules/@a/one/node_modules/two"])],
      ["node_modules/@a/one/node_modules/two", new Set()],
    ]),
  );
});

test("a bill names what is in the bundle and the runtime, and nothing else", () => {
  const bill = JSON.parse(sbom(request)) as { components: { purl: string }[]; dependencies: object[] };
  expect(bill.components.map(({ purl }) => purl)).toEqual([
    "pkg:npm/%40a/one@1.0.0",
    "pkg:npm/runtime@9.0.0",
    "pkg:npm/two@2.0.0",
  ]);
  expect(bill.components[0]).toMatchObject({
    group: "@a",
    name: "one",
    licenses: [{ expression: "(MIT AND 0BSD)" }],
    hashes: [{ alg: "SHA-512", content: "000102" }],
  });
  expect(bill.dependencies).toContainEqual({ ref: "pkg:npm/%40a/one@1.0.0", dependsOn: ["pkg:npm/two@2.0.0"] });
});

test("a package that the lockfile does not know is an error, not a gap", () => {
  const graph = new Map([["node_modules/stranger", new Set<string>()]]);
  expect(() => sbom({ ...request, graph })).toThrow("stranger");
});

test("the bundle of a real program is found in the real lockfile, wherever it is asked from", async () => {
  const graph = packageGraph(await bundleInputs("pkg/log/log.ts"));
  expect([...graph.keys()]).toContain("node_modules/pino");
  const bill = sbom({ ...request, graph, lockfile: await readLockfile(), runtime: "commander" });
  expect(bill).toContain("pkg:npm/pino@");
  expect(bill).not.toContain("typescript");
});
