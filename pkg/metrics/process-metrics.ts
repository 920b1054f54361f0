/** What every program of ours tells about itself, under the names that dashboards know. */
import type { Registry } from "./metrics.ts";

export interface ProcessFacts {
  readonly name: string;
  readonly version: string;
}

export function registerProcessMetrics(registry: Registry, { name, version }: ProcessFacts): void {
  const labels = ["program", "version"] as const;
  registry.gauge({ name: "build_info", help: "Always 1; the labels tell.", labels }).set({ program: name, version }, 1);
  const started = registry.gauge({ name: "process_start_time_seconds", help: "When the process began, unix time." });
  started.set({}, Math.round(Date.now() / 1000 - process.uptime()));
  const memory = registry.gauge({ name: "process_resident_memory_bytes", help: "Memory held in RAM." });
  const cpu = registry.counter({ name: "process_cpu_seconds_total", help: "CPU time spent, user and system." });
  let counted = 0;
  memory.onScrape(() => {
    memory.set({}, process.memoryUsage.rss());
    const { user, system } = process.cpuUsage();
    const spent = Math.max(counted, (user + system) / 1e6);
    cpu.inc({}, spent - counted);
    counted = spent;
  });
}
