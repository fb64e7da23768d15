// What all samples of a profile weigh together, by which weights, and whether they are counted calls.
import type { Profile } from "./profile";
import { rowWeight } from "../tree/tree";
import type { Weighed, Weight } from "../units";
import { WEIGHTS } from "../units";

export function weightOfAll(profile: Profile, weight: Weight): Weighed {
  return profile.samples.stack.reduce<number>((sum, _, row) => sum + rowWeight(profile, weight, row), 0) as Weighed;
}

/** Its stacks are functions below their callers, not the calls of one moment. */
export function countsCalls({ processes }: Profile): boolean {
  return processes.length > 0 && processes.every((process) => process.countsCalls);
}

/** What the recording can be weighed by. */
export function weightsOf({ samples }: Profile): readonly Weight[] {
  return WEIGHTS.filter((weight) => (weight !== "copied" && weight !== "allocated") || samples[weight].length > 0);
}
