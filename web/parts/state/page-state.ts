// All that can change on the page, as three small states, and the questions to model/ that more than one part asks, asked once.
// Never: draws, or sums.
import { computed } from "@preact/signals";
import type { ReadonlySignal } from "@preact/signals";
import { functionOf, sumEverywhere } from "../../model/tree/everywhere";
import type { Everywhere } from "../../model/tree/everywhere";
import { find } from "../../model/tree/find";
import type { Found } from "../../model/tree/find";
import { whereRows } from "../../model/rows";
import type { WhereRow } from "../../model/rows";
import { lineShares } from "../../model/source";
import type { LineShares } from "../../model/source";
import { spotOf } from "../../model/source-view";
import type { Spot } from "../../model/source-view";
import type { Recording } from "../../model/tables/profile";
import { pathTo, placeOf, ROOT } from "../../model/tree/tree";
import type { Tree } from "../../model/tree/tree";
import type { BoxIndex, Ns, PlaceIndex } from "../../model/units";
import { placeName, placeWhere } from "../../model/words";
import type { ComparisonState } from "./comparison";
import { createFilterState } from "./filters";
import type { FilterState } from "./filters";
import { createSelectionState } from "./selection";
import type { SelectionState } from "./selection";
import { createViewState, orderOf } from "./view";
import type { Theme, ViewName, ViewState } from "./view";

export interface PageState {
  readonly recording: Recording;
  /** Of a page of two recordings, of which this is one. */
  readonly comparison: ComparisonState | null;
  /** What the page opens with. */
  readonly firstView: ViewName;
  readonly view: ViewState;
  readonly filters: FilterState;
  readonly selection: SelectionState;
  readonly rows: ReadonlySignal<readonly WhereRow[]>;
  readonly found: ReadonlySignal<Found | null>;
  readonly lineShares: ReadonlySignal<LineShares>;
  /** Where the selected box is in the source. */
  readonly spot: ReadonlySignal<Spot | null>;
  /** By hand: it holds until a box in another file is selected. */
  readonly chosenFile: ReadonlySignal<string | null>;
  readonly chooseFile: (file: string | null) => void;
  /** `tree`: that on the screen, if none is given. */
  readonly nameOf: (box: BoxIndex, tree?: Tree) => string;
  /** Of the place of a box on the screen, and in which tree it was summed; the last one is kept. */
  readonly everywhere: (box: BoxIndex) => Everywhere & { readonly tree: Tree };
  /** Selects a box where it can be seen, with the panel. */
  readonly showBox: (box: BoxIndex) => void;
  readonly nextFound: (step: 1 | -1) => void;
  /** Keeps the stacks with the selected function, or takes the function out. */
  readonly keep: (how: "focus" | "hide") => void;
  /** `path:line` of the selected box, or its name. */
  readonly placeWords: () => string;
  /** The calls that lead to the selected box, one a line, the outermost first. */
  readonly stackWords: () => string;
}

/** `shared`: of the other recording of a comparison, so that a switch between them keeps theme and view. */
export function createPageState(recording: Recording, theme: Theme, comparison: ComparisonState | null = null, shared: ViewState | null = null): PageState {
  const { profile } = recording;
  const title = profile.meta.title ?? profile.meta.recording ?? "the program";
  const firstView = comparison === null ? "where" : "compare";
  const view = shared ?? createViewState(profile.meta.defaultWeight, theme, firstView);
  const filters = createFilterState(profile);
  const selection = createSelectionState(filters, view);
  const rows = computed(() => whereRows(filters.tree.value, recording, view.weight.value));
  const found = computed(() => find(selection.whole.value, view.weight.value, filters.query.value));
  let kept: { readonly tree: object; readonly place: PlaceIndex; readonly sums: Everywhere & { readonly tree: Tree } } | null = null;
  const everywhere: PageState["everywhere"] = (box) => {
    const folded = selection.tree.value;
    const tree = filters.tree.value;
    // Places that the call tree has not are those of runs and of threads. Every other box is summed with the folded boxes of its function.
    const place = (folded.place[box] ?? 0) as PlaceIndex;
    if (place >= tree.places.length) return { ...sumEverywhere(folded, place), tree: folded };
    if (kept?.place !== place || kept.tree !== tree) kept = { tree, place, sums: { ...sumEverywhere(tree, place), tree } };
    return kept.sums;
  };
  const spot = computed(() => spotOf(selection.tree.value, selection.selected.value));
  const nameOf: PageState["nameOf"] = (box, tree = selection.tree.value) => placeName(placeOf(tree, box), { title, processes: profile.processes, threads: profile.threads });
  const first = rows.value[0]?.box ?? null;
  if (first !== null) selection.select(first);
  return {
    recording,
    comparison,
    firstView,
    view,
    filters,
    selection,
    rows,
    found,
    lineShares: computed(() => lineShares(filters.profile.value, view.weight.value)),
    spot,
    chosenFile: computed(() => {
      const chosen = view.file.value;
      return chosen !== null && chosen.instead === (spot.value?.file ?? null) ? chosen.file : null;
    }),
    chooseFile: (file) => {
      view.file.value = file === null ? null : { file, instead: spot.value?.file ?? null };
    },
    nameOf,
    everywhere,
    showBox: (box) => {
      selection.showCall(box);
      view.panelShown.value = true;
    },
    keep: (how) => {
      const tree = selection.tree.value;
      const place = placeOf(tree, functionOf(tree, selection.selected.value));
      if ("frame" in place) filters.change({ [how]: `^${escaped(place.frame.name)}$` });
    },
    placeWords: () => {
      const place = placeOf(selection.tree.value, selection.selected.value);
      const { file, line, firstLine } = "frame" in place ? place.frame : { file: null, line: null, firstLine: null };
      if (file === null) return nameOf(selection.selected.value);
      const at = place.kind === "function" ? firstLine : line;
      return at === null ? file : `${file}:${at}`;
    },
    stackWords: () => {
      // Folded calls are on the stack, too.
      const tree = selection.whole.value;
      const path = pathTo(tree, selection.selected.value);
      const calls = orderOf(view) === "inverted" ? [ROOT, ...path.slice(1).reverse()] : path;
      return calls.map((at) => {
        return [nameOf(at, tree), placeWhere(placeOf(tree, at))].filter((words) => words !== "").join("  ");
      }).join("\n");
    },
    nextFound: (step) => {
      const stops = found.value?.stops ?? [];
      const here = stops.indexOf(selection.selected.value);
      const next = stops[here < 0 ? 0 : (here + step + stops.length) % stops.length];
      if (next !== undefined) selection.show(next);
    },
  };
}

/** The range of time that is kept; null: all of it. */
export function keptTime({ filters, recording: { profile } }: PageState): { start: Ns; end: Ns } | null {
  const { time } = filters.kept.value;
  const length = profile.moments?.binLength;
  return time === null || length === undefined ? null : { start: (time.first * length) as Ns, end: (time.end * length) as Ns };
}

/** As a pattern that only the text itself matches. */
function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}
