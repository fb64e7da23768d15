// What an icicle shows, whichever tree it is of: the call tree, or one half of a sandwich.
import type { ReadonlySignal, Signal } from "@preact/signals";
import type { Found } from "../../model/tree/find";
import type { FoldedTree } from "../../model/tree/fold";
import type { BoxIndex, Weight } from "../../model/units";
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
}

/** Of the call tree. */
export function pictureOf({ selection, view, found, nameOf }: PageState): Picture {
  const { tree, zoom, selected, hover, hovered, zoomTo } = selection;
  return { tree, zoom, selected, hover, hovered, found, nameOf, weight: view.weight, theme: view.theme, pick: zoomTo, upwards: false, label: "Call tree" };
}
