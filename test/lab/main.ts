/**
 * npm run lab -- up|down|status|kubectl …|load FILE…|shell
 *
 * A local three-node Kubernetes for development, demo and tests.
 */
import { Command } from "commander";
import { build } from "../../scripts/build.ts";
import { main, Trouble } from "../../scripts/lib.ts";
import { down, existingLabs, insideLab, type Lab, labEnv, load, openLab, up } from "./lab.ts";
import { DEFAULT_LAB } from "./names.ts";
import { printStatus } from "./status.ts";

/** Runs a command inside the lab on this terminal. */
async function runInside(lab: Lab, command: readonly string[]): Promise<number> {
  const child = Bun.spawn([...insideLab(lab), ...command], {
    env: { ...process.env, ...labEnv(lab) },
    stdio: ["inherit", "inherit", "inherit"],
  });
  return child.exited;
}

const program = new Command("npm run lab --")
  .description("A real three-node Kubernetes on this machine. Needs root; nothing of it can reach the outside.")
  .option("--name <name>", "which lab; several can run beside each other", process.env["LAB"] ?? DEFAULT_LAB)
  .enablePositionalOptions()
  .passThroughOptions()
  .exitOverride((error) => process.exit(error.exitCode));

const lab = () => openLab(name());
const name = () => program.opts<{ name: string }>().name;

program
  .command("up")
  .description("bring the lab up, or load this checkout's images into the one that is up")
  .option("--fresh", "take a running one down first")
  .action(async (options: { fresh?: boolean }) => {
    await up(name(), { fresh: options.fresh ?? false });
    await build("kubectl-valkey");
    await printStatus(await lab());
  });
program
  .command("down")
  .description("take the lab down and remove all it left")
  .option("--all", "every lab of this machine")
  .action(async (options: { all?: boolean }) => {
    for (const one of options.all === true ? await existingLabs() : [name()]) await down(one);
  });
program
  .command("status")
  .description("what runs, and where its logs are")
  .action(async () => printStatus(await lab()));
program
  .command("load")
  .description("put OCI image archives on every node")
  .argument("<files...>")
  .action(async (files: string[]) => load(await lab(), files));
program
  .command("kubectl")
  .description("kubectl against the lab; kubectl valkey too")
  .argument("[args...]")
  .allowUnknownOption()
  .passThroughOptions()
  .helpOption(false)
  .action(async (args: string[]) => process.exit(await runInside(await lab(), ["kubectl", ...args])));
program
  .command("shell")
  .description("a shell (or a command) inside the lab's network, with kubectl and our binaries on the PATH")
  .argument("[command...]")
  .allowUnknownOption()
  .passThroughOptions()
  .action(async (command: string[]) => {
    const shell = command.length > 0 ? command : [process.env["SHELL"] ?? "sh"];
    process.exit(await runInside(await lab(), shell));
  });

await main(async () => {
  if (process.argv.length < 3) throw new Trouble(`say what to do\n${program.helpInformation()}`);
  await program.parseAsync();
});
