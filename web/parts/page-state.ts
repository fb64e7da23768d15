// Everything that can change on the page, as signals, and the verbs that change it. No drawing, no sums: those are
// questions to model/, asked here once and kept.
import { computed, signal } from "@preact/signals";
import type { ReadonlySignal, Signal } from "@preact/signals";
import { sumEverywhere } from "../model/everywhere";
import type { Everywhere } from "../model/everywhere";
import { find } from "../model/find";
import { foldTree, standsFor } from "../model/fold";
import type { FoldedTree } from "../model/fold";
import type { Found } from "../model/find";
import { neighbour, zoomFor } from "../model/layout";
import type { Direction, Run } from "../model/layout";
import type { Recording } from "../model/tables/profile";
import { whereRows } from "../model/rows";
import type { WhereRow } from "../model/rows";
import { lineShares } from "../model/source";
import type { LineShares } from "../model/source";
import { buildTree, parentOf, pathTo, placeOf, ROOT, weightOf } from "../model/tree";
import type { Tree } from "../model/tree";
import type { BoxIndex, PlaceIndex, Px, Weight } from "../model/units";
import { placeName } from "../model/words";

export type Theme = "light" | "dark";
/** What the pointer is over, and where it is on the screen. */
export interface Hover {
  readonly shows: { readonly kind: "box"; readonly box: BoxIndex } | Run;
  readonly x: Px;
  readonly y: Px;
}

export interface PageState {
  readonly recording: Recording;
  /** The tree on the screen: the interpreter's calls are folded unless the reader opened them. */
  readonly tree: FoldedTree;
  /** With every call. */
  readonly whole: Tree;
  /** Of the place of a box; the last one is kept. */
  readonly everywhere: (box: BoxIndex) => Everywhere;
  readonly weight: Signal<Weight>;
  readonly zoom: Signal<BoxIndex>;
  readonly selected: Signal<BoxIndex>;
  readonly hover: Signal<Hover | null>;
  /** The same without the pointer's place: changes only from box to box. */
  readonly hovered: ReadonlySignal<Hover["shows"] | null>;
  readonly query: Signal<string>;
  readonly theme: Signal<Theme>;
  readonly keysShown: Signal<boolean>;
  /** On narrow screens the panel is a sheet that comes up when asked for. */
  readonly panelShown: Signal<boolean>;
  readonly rows: ReadonlySignal<readonly WhereRow[]>;
  readonly found: ReadonlySignal<Found | null>;
  readonly lineShares: ReadonlySignal<LineShares>;
  readonly nameOf: (box: BoxIndex) => string;
  /** Whether a box replaces folded calls, belongs to a run that was opened, or neither. */
  readonly foldOf: (box: BoxIndex) => "closed" | "open" | "none";
  /** Opens a box of several calls, or folds them into one box again. */
  readonly turnFold: (box: BoxIndex) => void;
  readonly select: (box: BoxIndex) => void;
  readonly zoomTo: (box: BoxIndex) => void;
  readonly zoomOut: () => void;
  readonly walk: (direction: Direction) => void;
  /** Scrolls and zooms to a box and its neighbours. */
  readonly showBox: (box: BoxIndex) => void;
  readonly nextFound: (step: 1 | -1) => void;
  readonly setWeight: (weight: Weight) => void;
  readonly switchTheme: () => void;
}

export function createPageState(recording: Recording, theme: Theme): PageState {
  const { profile } = recording;
  const whole = buildTree(profile);
  const title = profile.meta.title ?? profile.meta.recording ?? "the program";
  const weight = signal<Weight>(profile.meta.defaultWeight);
  const zoom = signal<BoxIndex>(ROOT);
  const selected = signal<BoxIndex>(ROOT);
  const query = signal("");
  const themeSignal = signal<Theme>(theme);
  const panelShown = signal(false);
  const hover = signal<Hover | null>(null);
  const opened = signal<ReadonlySet<BoxIndex>>(new Set());
  const folded = computed(() => foldTree(whole, weight.value, opened.value));
  const everyRun = computed(() => foldTree(whole, weight.value, new Set()).runOf);
  const rows = computed(() => whereRows(whole, recording, weight.value));
  const found = computed(() => find(whole, weight.value, query.value));
  const open = (box: BoxIndex): void => {
    const run = folded.value.runOf.get(box);
    if (run !== undefined) opened.value = new Set([...opened.value, ...run]);
  };
  /** Opens the run of a folded box, so that the box is on the screen. */
  const reveal = (box: BoxIndex): void => {
    if (standsFor(folded.value, box) !== box) open(box);
  };

  const isInZoom = (box: BoxIndex): boolean => pathTo(folded.value, box).includes(zoom.value);
  const select = (box: BoxIndex): void => {
    reveal(box);
    selected.value = box;
    if (!isInZoom(box) && !pathTo(folded.value, zoom.value).includes(box)) zoom.value = zoomFor(folded.value, box);
  };
  const zoomTo = (box: BoxIndex): void => {
    if (folded.value.runOf.has(box)) open(box);
    else zoom.value = box;
    selected.value = box;
  };
  let kept: { readonly place: PlaceIndex; readonly sums: Everywhere } | null = null;
  const everywhere = (box: BoxIndex): Everywhere => {
    // The box of a run has one place; every other box is summed with the folded boxes of its function.
    if (folded.value.runOf.has(box)) return sumEverywhere(folded.value, (folded.value.place[box] ?? 0) as PlaceIndex);
    const place = (whole.place[box] ?? 0) as PlaceIndex;
    if (kept?.place !== place) kept = { place, sums: sumEverywhere(whole, place) };
    return kept.sums;
  };
  selected.value = rows.value[0]?.box ?? ROOT;

  return {
    recording,
    get tree() {
      return folded.value;
    },
    whole,
    everywhere,
    weight,
    zoom,
    selected,
    hover,
    hovered: computed(() => hover.value?.shows ?? null),
    query,
    theme: themeSignal,
    keysShown: signal(false),
    panelShown,
    rows,
    found,
    lineShares: computed(() => lineShares(profile, weight.value)),
    nameOf: (box) => placeName(placeOf(folded.value, box), { title, processes: profile.processes }),
    foldOf: (box) => (folded.value.runOf.has(box) ? "closed" : everyRun.value.has(box) ? "open" : "none"),
    turnFold: (box) => {
      if (folded.value.runOf.has(box)) {
        open(box);
        return;
      }
      const run = new Set(everyRun.value.get(box));
      opened.value = new Set([...opened.value].filter((call) => !run.has(call)));
      zoom.value = standsFor(folded.value, zoom.value);
      selected.value = standsFor(folded.value, selected.value);
    },
    select,
    zoomTo,
    zoomOut: () => {
      const from = zoom.value;
      zoom.value = parentOf(folded.value, from);
      selected.value = from;
    },
    walk: (direction) => {
      select(neighbour(folded.value, weight.value, selected.value, direction));
    },
    showBox: (box) => {
      reveal(box);
      zoom.value = zoomFor(folded.value, box);
      selected.value = box;
      panelShown.value = true;
    },
    nextFound: (step) => {
      const stops = found.value?.stops ?? [];
      const here = stops.indexOf(selected.value);
      const next = here < 0 ? 0 : (here + step + stops.length) % stops.length;
      const box = stops[next];
      if (box !== undefined) {
        reveal(box);
        zoom.value = zoomFor(folded.value, box);
        selected.value = box;
      }
    },
    setWeight: (next) => {
      // A box that weighs nothing in the new weight cannot be zoomed to: go up to one that does.
      zoom.value = pathTo(folded.value, zoom.value).findLast((box) => weightOf(whole.total, box, next) > 0) ?? ROOT;
      weight.value = next;
      zoom.value = standsFor(folded.value, zoom.value);
      selected.value = standsFor(folded.value, selected.value);
    },
    switchTheme: () => {
      themeSignal.value = themeSignal.value === "light" ? "dark" : "light";
    },
  };
}
