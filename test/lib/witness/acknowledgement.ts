/** What a witness is told and what it tells, one JSON object a line. Times are the machine's wall clock in ms. */
import * as v from "valibot";

/** A server to write to directly, whatever it says of itself. */
export const WitnessedServer = v.object({
  pod: v.string(),
  ip: v.string(),
  port: v.number(),
  shard: v.number(),
  /** A hash tag whose slot the shard owns. */
  tag: v.string(),
  /** How many replicas a waiting write waits for: all of the shard's. */
  replicas: v.number(),
});
export type WitnessedServer = v.InferOutput<typeof WitnessedServer>;

export const Instruction = v.object({ servers: v.array(WitnessedServer) });
export type Instruction = v.InferOutput<typeof Instruction>;

export const Acknowledgement = v.object({
  pod: v.string(),
  shard: v.number(),
  /** The value is the key itself. */
  key: v.string(),
  /** The server's configuration epoch before the write and after it. */
  epoch: v.number(),
  sentAt: v.number(),
  answeredAt: v.number(),
  /** Whether WAIT said that every replica has it. */
  waited: v.boolean(),
});
export type Acknowledgement = v.InferOutput<typeof Acknowledgement>;
