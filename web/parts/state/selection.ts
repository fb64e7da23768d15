// Where the reader is in the tree: the selected box, the zoom, opened runs, the pointer. Never: which samples the tree is made of.
// Keeps: after a filter the same box is selected, or the nearest one above it that is left.
import { batch, computed, signal } from "@preact/signals";
import type { ReadonlySignal, Signal } from "@preact/signals";
import { boxOf, wordOf } from "../../model/tree/box-path";
import { counterpart } from "../../model/tree/orders/counterpart";
import type { Standing } from "../../model/tree/orders/counterpart";
import { foldTree, standsFor } from "../../model/tree/fold";
import { inTime } from "../../model/tree/orders/in-time";
import { inverted } from "../../model/tree/orders/inverted";
import type { FoldedTree } from "../../model/tree/fold";
import { neighbour, zoomFor } from "../../model/tree/layout";
import type { Direction, Run } from "../../model/tree/layout";
import { parentOf, pathTo, ROOT, weightOf } from "../../model/tree/tree";
import type { Tree } from "../../model/tree/tree";
import type { BoxIndex, Px } from "../../model/units";
import type { FilterState } from "./filters";
import { orderOf } from "./view";
import type { ViewState } from "./view";

/** What the pointer is over, and where it is on the screen. */
export interface Hover {
  readonly shows: { readonly kind: "box"; readonly box: BoxIndex } | Run;
  readonly x: Px;
  readonly y: Px;
}

/** Rows of one tree. */
interface Turned {
  readonly tree: Tree;
  readonly rows: ReadonlyMap<BoxIndex, boolean>;
}
const NONE: Turned["rows"] = new Map();

export interface SelectionState {
  /** The tree on the screen, in the order that the reader chose: the interpreter's calls are folded unless the reader opened them. */
  readonly tree: ReadonlySignal<FoldedTree>;
  /** The same with no call folded. Of the call tree itself: `FilterState.tree`. */
  readonly whole: ReadonlySignal<Tree>;
  readonly selected: ReadonlySignal<BoxIndex>;
  readonly zoom: ReadonlySignal<BoxIndex>;
  readonly hover: Signal<Hover | null>;
  /** The same without the pointer's place: changes only from box to box. */
  readonly hovered: ReadonlySignal<Hover["shows"] | null>;
  /** Whether a box replaces folded calls, belongs to a run that was opened, or neither. */
  readonly foldOf: (box: BoxIndex) => "closed" | "open" | "none";
  /** Opens a box of several calls, or folds them into one box again. */
  readonly turnFold: (box: BoxIndex) => void;
  /** Rows of the table of calls that were opened or closed by hand: whether they are open. */
  readonly turned: ReadonlySignal<ReadonlyMap<BoxIndex, boolean>>;
  readonly turnRow: (box: BoxIndex, open: boolean) => void;
  readonly select: (box: BoxIndex) => void;
  readonly zoomTo: (box: BoxIndex) => void;
  readonly zoomOut: () => void;
  readonly walk: (direction: Direction) => void;
  /** Selects a box and zooms to it and its neighbours. */
  readonly show: (box: BoxIndex) => void;
  /** The same for a box of the call tree, whichever order is on the screen. */
  readonly showCall: (box: BoxIndex) => void;
  /** All at once, as a link names them. */
  readonly restore: (words: SelectionWords) => void;
  /** What a link says of them. */
  readonly words: ReadonlySignal<SelectionWords>;
}

/** `rows`: those turned by hand, with a `-` before a closed one. `opened`: the first call of each run that was opened. */
export interface SelectionWords {
  readonly selected: string;
  readonly zoom: string;
  readonly rows: readonly string[];
  readonly opened: readonly string[];
}

/** A box of one tree. */
interface At extends Standing {
  readonly box: BoxIndex;
}

export function createSelectionState(filters: FilterState, view: ViewState): SelectionState {
  const order = computed(() => orderOf(view));
  const turned = computed(() => (order.value === "inverted" ? inverted(filters.tree.value) : null));
  const timed = computed(() => {
    const { moments } = filters.profile.value;
    return order.value === "time" && moments !== null ? inTime(foldTree(filters.tree.value, view.weight.value, new Set()), filters.profile.value, moments) : null;
  });
  const whole = computed(() => turned.value ?? timed.value ?? filters.tree.value);
  const at = (box: BoxIndex): At => ({ tree: whole.peek(), isInverted: turned.peek() !== null, box });
  const [selectedAt, zoomAt] = [signal(at(ROOT)), signal(at(ROOT))];
  /** All calls of each opened run: in another weight the run may begin or end elsewhere. */
  const opened = signal<{ readonly tree: Tree; readonly boxes: ReadonlySet<BoxIndex> }>({ tree: whole.peek(), boxes: new Set() });
  const openedHere = (): ReadonlySet<BoxIndex> => (opened.value.tree === whole.value ? opened.value.boxes : new Set());
  const folds = (boxes: ReadonlySet<BoxIndex>): FoldedTree => turned.value ?? timed.value ?? foldTree(filters.tree.value, view.weight.value, boxes);
  const folded = computed(() => folds(openedHere()));
  const everyRun = computed(() => folds(new Set()).runOf);
  const here = ({ box, ...from }: At): BoxIndex => counterpart(from, box, { tree: whole.value, isInverted: turned.value !== null }, view.weight.value);
  const selected = computed(() => standsFor(folded.value, here(selectedAt.value)));
  const zoom = computed(() => {
    // A box that weighs nothing in the weight cannot be zoomed to: up to one that does.
    const path = pathTo(whole.value, here(zoomAt.value));
    return standsFor(folded.value, path.findLast((box) => weightOf(whole.value.total, box, view.weight.value) > 0) ?? ROOT);
  });
  const hover = signal<Hover | null>(null);

  const turnedAt = signal<Turned>({ tree: whole.peek(), rows: NONE });
  const turnedRows = computed(() => (turnedAt.value.tree === whole.value ? turnedAt.value.rows : NONE));

  const runAt = (box: BoxIndex): readonly BoxIndex[] => everyRun.value.get(box) ?? [box];
  const open = (box: BoxIndex): void => {
    opened.value = { tree: whole.value, boxes: new Set([...openedHere(), ...runAt(box)]) };
  };
  /** Opens the run of a folded box, so that the box is on the screen. */
  const reveal = (box: BoxIndex): void => {
    if (standsFor(folded.value, box) !== box) open(box);
  };
  // Each is one step of the address.
  const select = (box: BoxIndex): void => {
    batch(() => {
      reveal(box);
      selectedAt.value = at(box);
      const isInZoom = pathTo(folded.value, box).includes(zoom.value) || pathTo(folded.value, zoom.value).includes(box);
      if (!isInZoom) zoomAt.value = at(zoomFor(folded.value, box));
    });
  };
  const show = (box: BoxIndex): void => {
    batch(() => {
      reveal(box);
      zoomAt.value = at(zoomFor(folded.value, box));
      selectedAt.value = at(box);
    });
  };
  return {
    tree: folded,
    whole,
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
      opened.value = { tree: whole.value, boxes: new Set([...openedHere()].filter((call) => !runAt(box).includes(call))) };
    },
    turned: turnedRows,
    turnRow: (box, isOpen) => {
      turnedAt.value = { tree: whole.value, rows: new Map([...turnedRows.value, [box, isOpen]]) };
    },
    select,
    zoomTo: (box) => {
      batch(() => {
        if (folded.value.runOf.has(box)) open(box);
        else zoomAt.value = at(box);
        selectedAt.value = at(box);
      });
    },
    zoomOut: () => {
      const from = zoom.value;
      zoomAt.value = at(parentOf(folded.value, from));
      selectedAt.value = at(from);
    },
    walk: (direction) => {
      select(neighbour(folded.value, view.weight.value, selected.value, direction));
    },
    show,
    showCall: (box) => {
      show(here({ tree: filters.tree.value, isInverted: false, box }));
    },
    restore: (words) => {
      const tree = whole.value;
      selectedAt.value = at(boxOf(tree, words.selected));
      zoomAt.value = at(boxOf(tree, words.zoom));
      // Of a box that is not in this recording the nearest caller is not meant.
      const named = (word: string): BoxIndex[] => [boxOf(tree, word)].filter((box) => wordOf(tree, box) === word);
      opened.value = { tree, boxes: new Set(words.opened.flatMap(named).flatMap(runAt)) };
      turnedAt.value = { tree, rows: new Map(words.rows.flatMap((row) => named(row.replace("-", "")).map((box) => [box, !row.startsWith("-")] as const))) };
    },
    words: computed(() => ({
      selected: wordOf(whole.value, selected.value),
      zoom: wordOf(whole.value, zoom.value),
      rows: [...turnedRows.value].map(([box, isOpen]) => (isOpen ? "" : "-") + wordOf(whole.value, box)),
      opened: [...openedHere()].filter((box) => everyRun.value.get(box)?.[0] === box).map((box) => wordOf(whole.value, box)),
    })),
  };
}
