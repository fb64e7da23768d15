// A page of a comparison: which of its recordings the other views show, and where the reader is in the tree of changes.
import { signal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import type { Comparison } from "../../model/tables/comparison";

export const SIDES = ["before", "after"] as const;
export type Side = (typeof SIDES)[number];

export interface ComparisonState {
  readonly data: Comparison;
  readonly side: Signal<Side>;
  /** Rows of `Comparison.boxes`. */
  readonly zoom: Signal<number>;
  readonly focused: Signal<number>;
}

export function createComparisonState(data: Comparison): ComparisonState {
  return { data, side: signal<Side>("after"), zoom: signal(0), focused: signal(0) };
}
