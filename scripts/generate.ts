/** Makes every generated file of the repository anew. `npm run check` fails when one of them is stale. */
import { $ } from "bun";
import { writeContainerfiles } from "../images/containerfile.ts";
import { generateCrds } from "./generate-api.ts";
import { generateApiDocs } from "./generate-api-docs.ts";
import { generateInstall } from "./generate-install.ts";

await $`node_modules/.bin/buf generate`.env({ ...process.env, PATH: `node_modules/.bin:${process.env["PATH"]}` });
await writeContainerfiles();
await generateCrds();
await generateApiDocs();
await generateInstall();
