/** The images a lab's nodes hold from the start: the sandbox, Valkey in every version we serve, the exporter, and ours. */
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { cacheHome } from "../../scripts/build.ts";
import { buildImages } from "../../scripts/images.ts";
import { type ImageConfig, type Layer, writeImage } from "../../scripts/oci.ts";
import { SANDBOX_IMAGE } from "./node.ts";
import { ensureExporter, ensureValkey, VALKEY_VERSIONS } from "./valkey.ts";

const PATH_ENV = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" };

/** The image archives that do not change with our code. The tags are those that users name in a ValkeyCluster. */
export async function foreignImages(bin: string): Promise<string[]> {
  const folder = join(cacheHome(), "lab", "images");
  await mkdir(folder, { recursive: true });
  const archives: string[] = [];
  for (const version of VALKEY_VERSIONS) {
    const { tar } = await ensureValkey(version);
    const config = { entrypoint: ["valkey-server"], env: PATH_ENV };
    archives.push(await kept(folder, `docker.io/valkey/valkey:${version}`, { tar }, config));
  }
  const exporter = await ensureExporter();
  const command = { entrypoint: ["/usr/bin/prometheus-redis-exporter"], env: PATH_ENV };
  archives.push(await kept(folder, "docker.io/oliver006/redis_exporter:v1.74.0", exporter, command));
  const pause: Layer = { entries: [{ kind: "copy", path: "pause", source: join(bin, "pause"), mode: 0o755 }] };
  archives.push(await kept(folder, SANDBOX_IMAGE, pause, { entrypoint: ["/pause"] }));
  return archives;
}

/** Our own images, built from this checkout. */
export async function ownImages(): Promise<string[]> {
  return (await buildImages()).map(({ file }) => file);
}

async function kept(folder: string, name: string, layer: Layer, config: ImageConfig): Promise<string> {
  const source = "tar" in layer ? layer.tar : layer.entries.map((entry) => entry.path).join();
  const outfile = join(folder, `${name.replaceAll(/[/:]/g, "_")}-${Bun.hash(source + name).toString(36)}.oci`);
  if (!existsSync(outfile)) await writeImage({ outfile, name, layers: [layer], config });
  return outfile;
}
