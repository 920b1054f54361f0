import { expect, test } from "bun:test";
import { IMAGES, labels } from "../images/files.ts";
import { parseOptions } from "./images.ts";

test("without arguments everything is built for this machine", () => {
  expect(parseOptions([])).toEqual({});
});

test("images, prefix and architecture can be chosen", () => {
  expect(parseOptions(["sidecar", "--prefix", "registry.example/team/", "--arch=arm64"])).toEqual({
    only: ["sidecar"],
    prefix: "registry.example/team",
    architecture: "arm64",
  });
});

test.each([["plugin"], ["--arch=mips"], ["--frefix=x"]])("%p is refused with the usage", (word) => {
  expect(() => parseOptions([word])).toThrow("usage: npm run images");
});

test("labels leave out a source that is not known", () => {
  const [spec] = IMAGES;
  if (spec === undefined) throw new Error("no images");
  expect(Object.keys(labels(spec, { version: "1", revision: "abc" }))).not.toContain("org.opencontainers.image.source");
  expect(labels(spec, { version: "1", revision: "abc", source: "https://example.org" })).toMatchObject({
    "org.opencontainers.image.source": "https://example.org",
    "org.opencontainers.image.version": "1",
  });
});
