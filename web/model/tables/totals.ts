// What all samples of a profile weigh together, by which weights, and whether they are counted calls.
import type { Profile } from "./profile";
import { isRunning } from "../tree/tree";
import type { Weighed, Weight } from "../units";
import { WEIGHTS } from "../units";

export function weightOfAll({ samples, states }: Profile, weight: Weight): Weighed {
  const values = weight === "samples" ? samples.samples : samples[weight];
  const counts = (row: number): boolean => weight !== "samples" || isRunning(states[samples.state[row] ?? 0] ?? "running");
  return values.reduce<number>((sum, value, row) => (counts(row) ? sum + value : sum), 0) as Weighed;
}

/** Its stacks are functions below their callers, not the calls of one moment. */
export function countsCalls({ processes }: Profile): boolean {
  return processes.length > 0 && processes.every((process) => process.countsCalls);
}

/** What the recording can be weighed by. */
export function weightsOf({ samples }: Profile): readonly Weight[] {
  return WEIGHTS.filter((weight) => (weight !== "copied" && weight !== "allocated") || samples[weight].length > 0);
}
