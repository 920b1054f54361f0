/** What a Debian package says of itself: read from its archive, so that it is true of what was really unpacked. */
import { rm } from "node:fs/promises";
import * as v from "valibot";
import { run, Trouble } from "./lib.ts";

export const DebianPackage = v.object({
  name: v.string(),
  version: v.string(),
  /** "all" when it is the same for every machine. */
  architecture: v.string(),
  /** Of the archive. */
  sha256: v.string(),
  /** The fields as the package's author wrote them. */
  control: v.string(),
  /** Every path that it brings, from the root, without a leading slash; folders end with one. */
  files: v.array(v.string()),
});
export type DebianPackage = v.InferOutput<typeof DebianPackage>;

export async function describePackage(deb: string): Promise<DebianPackage> {
  const control = await run(["dpkg-deb", "--field", deb]);
  return {
    name: field(control, "Package"),
    version: field(control, "Version"),
    architecture: field(control, "Architecture"),
    sha256: new Bun.CryptoHasher("sha256").update(await Bun.file(deb).bytes()).digest("hex"),
    control,
    files: await filesIn(deb),
  };
}

export function field(control: string, name: string): string {
  const found = control.split("\n").find((line) => line.toLowerCase().startsWith(`${name.toLowerCase()}:`));
  if (found === undefined) throw new Trouble(`the control data of a Debian package has no field ${name}:\n${control}`);
  return found.slice(name.length + 1).trim();
}

async function filesIn(deb: string): Promise<string[]> {
  const archive = `${deb}.tar`;
  await run(["sh", "-ec", 'dpkg-deb --fsys-tarfile "$1" >"$2"', "sh", deb, archive]);
  const listed = await run(["tar", "-tf", archive]);
  await rm(archive);
  return listed
    .split("\n")
    .map((path) => path.replace(/^\.\//, ""))
    .filter((path) => path !== "");
}
