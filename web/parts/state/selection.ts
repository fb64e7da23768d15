// Where the reader is in the tree: the selected box, the zoom, opened runs, the pointer. Never: which samples the tree is made of.
// Keeps: after a filter the same box is selected, or the nearest one above it that is left.
import { computed, signal } from "@preact/signals";
import type { ReadonlySignal, Signal } from "@preact/signals";
import { boxOf, wordOf } from "../../model/tree/box-path";
import { foldTree, standsFor } from "../../model/tree/fold";
import type { FoldedTree } from "../../model/tree/fold";
import { neighbour, zoomFor } from "../../model/tree/layout";
import type { Direction, Run } from "../../model/tree/layout";
import { parentOf, pathTo, ROOT, weightOf } from "../../model/tree/tree";
import type { Tree } from "../../model/tree/tree";
import type { BoxIndex, Px } from "../../model/units";
import type { FilterState } from "./filters";
import type { ViewState } from "./view";

/** What the pointer is over, and where it is on the screen. */
export interface Hover {
  readonly shows: { readonly kind: "box"; readonly box: BoxIndex } | Run;
  readonly x: Px;
  readonly y: Px;
}

export interface SelectionState {
  /** The tree on the screen: the interpreter's calls are folded unless the reader opened them. */
  readonly tree: ReadonlySignal<FoldedTree>;
  readonly selected: ReadonlySignal<BoxIndex>;
  readonly zoom: ReadonlySignal<BoxIndex>;
  readonly hover: Signal<Hover | null>;
  /** The same without the pointer's place: changes only from box to box. */
  readonly hovered: ReadonlySignal<Hover["shows"] | null>;
  /** Whether a box replaces folded calls, belongs to a run that was opened, or neither. */
  readonly foldOf: (box: BoxIndex) => "closed" | "open" | "none";
  /** Opens a box of several calls, or folds them into one box again. */
  readonly turnFold: (box: BoxIndex) => void;
  readonly select: (box: BoxIndex) => void;
  readonly zoomTo: (box: BoxIndex) => void;
  readonly zoomOut: () => void;
  readonly walk: (direction: Direction) => void;
  /** Selects a box and zooms to it and its neighbours. */
  readonly show: (box: BoxIndex) => void;
  /** Both at once, as a link names them. */
  readonly restore: (selected: string, zoom: string) => void;
  /** What a link says of them. */
  readonly words: ReadonlySignal<{ readonly selected: string; readonly zoom: string }>;
}

/** A box of one tree. */
interface At {
  readonly tree: Tree;
  readonly box: BoxIndex;
}

export function createSelectionState(filters: FilterState, view: ViewState): SelectionState {
  const at = (box: BoxIndex): At => ({ tree: filters.tree.peek(), box });
  const [selectedAt, zoomAt] = [signal(at(ROOT)), signal(at(ROOT))];
  const opened = signal<{ readonly tree: Tree; readonly boxes: ReadonlySet<BoxIndex> }>({ tree: filters.tree.peek(), boxes: new Set() });
  const openedHere = (): ReadonlySet<BoxIndex> => (opened.value.tree === filters.tree.value ? opened.value.boxes : new Set());
  const folded = computed(() => foldTree(filters.tree.value, view.weight.value, openedHere()));
  const everyRun = computed(() => foldTree(filters.tree.value, view.weight.value, new Set()).runOf);
  const here = ({ tree, box }: At): BoxIndex => (tree === filters.tree.value ? box : boxOf(filters.tree.value, wordOf(tree, box)));
  const selected = computed(() => standsFor(folded.value, here(selectedAt.value)));
  const zoom = computed(() => {
    // A box that weighs nothing in the weight cannot be zoomed to: up to one that does.
    const path = pathTo(filters.tree.value, here(zoomAt.value));
    return standsFor(folded.value, path.findLast((box) => weightOf(filters.tree.value.total, box, view.weight.value) > 0) ?? ROOT);
  });
  const hover = signal<Hover | null>(null);

  const open = (box: BoxIndex): void => {
    const run = folded.value.runOf.get(box);
    if (run !== undefined) opened.value = { tree: filters.tree.value, boxes: new Set([...openedHere(), ...run]) };
  };
  /** Opens the run of a folded box, so that the box is on the screen. */
  const reveal = (box: BoxIndex): void => {
    if (standsFor(folded.value, box) !== box) open(box);
  };
  const select = (box: BoxIndex): void => {
    reveal(box);
    selectedAt.value = at(box);
    const isInZoom = pathTo(folded.value, box).includes(zoom.value) || pathTo(folded.value, zoom.value).includes(box);
    if (!isInZoom) zoomAt.value = at(zoomFor(folded.value, box));
  };
  return {
    tree: folded,
    selected,
    zoom,
    hover,
    hovered: computed(() => hover.value?.shows ?? null),
    foldOf: (box) => (folded.value.runOf.has(box) ? "closed" : everyRun.value.has(box) ? "open" : "none"),
    turnFold: (box) => {
      if (folded.value.runOf.has(box)) {
        open(box);
        return;
      }
      const run = new Set(everyRun.value.get(box));
      opened.value = { tree: filters.tree.value, boxes: new Set([...openedHere()].filter((call) => !run.has(call))) };
    },
    select,
    zoomTo: (box) => {
      if (folded.value.runOf.has(box)) open(box);
      else zoomAt.value = at(box);
      selectedAt.value = at(box);
    },
    zoomOut: () => {
      const from = zoom.value;
      zoomAt.value = at(parentOf(folded.value, from));
      selectedAt.value = at(from);
    },
    walk: (direction) => {
      select(neighbour(folded.value, view.weight.value, selected.value, direction));
    },
    show: (box) => {
      reveal(box);
      zoomAt.value = at(zoomFor(folded.value, box));
      selectedAt.value = at(box);
    },
    restore: (selectedWord, zoomWord) => {
      selectedAt.value = at(boxOf(filters.tree.value, selectedWord));
      zoomAt.value = at(boxOf(filters.tree.value, zoomWord));
    },
    words: computed(() => ({ selected: wordOf(filters.tree.value, selected.value), zoom: wordOf(filters.tree.value, zoom.value) })),
  };
}
