import { expect, test } from "bun:test";
import { ServerPhase } from "../../rpc/gen/valkey/agent/v1/state_pb.ts";
import { FIRST_ANSWER_MS, phaseOf, type Seen, SILENT_AFTER_MS } from "./server-phase.ts";

const running: Seen = {
  process: true,
  admitted: true,
  retired: false,
  loading: false,
  quietMs: 0,
  answered: true,
};

const CASES: readonly (readonly [string, Partial<Seen>, ServerPhase])[] = [
  ["answers", {}, ServerPhase.RUNNING],
  ["reads its data", { loading: true }, ServerPhase.LOADING],
  ["was let in and has not spoken", { answered: false, quietMs: SILENT_AFTER_MS }, ServerPhase.LOADING],
  ["has not spoken for long", { answered: false, quietMs: FIRST_ANSWER_MS }, ServerPhase.SILENT],
  ["fell silent", { quietMs: SILENT_AFTER_MS }, ServerPhase.SILENT],
  ["fell silent while loading", { loading: true, quietMs: SILENT_AFTER_MS }, ServerPhase.SILENT],
  ["is at the gate", { admitted: false, answered: false }, ServerPhase.GATED],
  ["is at the gate for good", { admitted: false, retired: true }, ServerPhase.STOPPED],
  ["is not there", { process: false, admitted: false }, ServerPhase.ABSENT],
  ["ended for good", { process: false, admitted: false, retired: true }, ServerPhase.STOPPED],
  ["is told to end and still runs", { retired: true }, ServerPhase.RUNNING],
];

test.each(CASES)("a server that %s", (_, seen, phase) => {
  expect(phaseOf({ ...running, ...seen })).toBe(phase);
});
