// What an icicle shows, whichever tree it is of: the call tree, or one half of a sandwich.
import type { ReadonlySignal, Signal } from "@preact/signals";
import type { Found } from "../../model/tree/find";
import type { FoldedTree } from "../../model/tree/fold";
import { weightOfAll } from "../../model/tables/totals";
import type { BoxIndex, Weight } from "../../model/units";
import { WEIGHT_WORDS } from "../../model/words";
import type { PageState } from "../state/page-state";
import type { Hover } from "../state/selection";
import type { Theme } from "../state/view";

export interface Picture {
  readonly tree: ReadonlySignal<FoldedTree>;
  readonly weight: ReadonlySignal<Weight>;
  readonly theme: ReadonlySignal<Theme>;
  readonly zoom: ReadonlySignal<BoxIndex>;
  readonly selected: ReadonlySignal<BoxIndex>;
  readonly hover: Signal<Hover | null>;
  readonly hovered: ReadonlySignal<Hover["shows"] | null>;
  readonly found: ReadonlySignal<Found | null>;
  readonly nameOf: (box: BoxIndex) => string;
  /** A click. */
  readonly pick: (box: BoxIndex) => void;
  /** The root at the bottom: callers. */
  readonly upwards: boolean;
  readonly label: string;
  /** In words, where it shows nothing. */
  readonly whyEmpty: () => string;
}

/** Why a part of what `state` keeps weighs nothing. */
export function whyEmpty({ view, filters, recording: { profile } }: PageState): string {
  const weight = view.weight.value;
  const name = WEIGHT_WORDS[weight];
  const kept = filters.profile.value;
  if (profile.samples.stack.length === 0) return "There is no sample in this recording. A longer run, or a higher --rate, fills this picture.";
  // Of bytes nobody knows when they were.
  if (kept.samples[weight].length < kept.samples.stack.length) return `${name} has no times: a kept range has none of it.`;
  if (weightOfAll(kept, weight) === 0 && weightOfAll(profile, weight) > 0) return `The filters keep nothing of ${name}. Esc takes them away.`;
  return weightOfAll(kept, "samples") === 0 ? `No ${name} was sampled: the program waited. Wall shows what for.` : `Nothing of ${name} here.`;
}

/** Of the call tree. */
export function pictureOf(state: PageState): Picture {
  const { selection, view, found, nameOf } = state;
  const { tree, zoom, selected, hover, hovered, zoomTo } = selection;
  return { tree, zoom, selected, hover, hovered, found, nameOf, weight: view.weight, theme: view.theme, pick: zoomTo, upwards: false, label: "Call tree", whyEmpty: () => whyEmpty(state) };
}
