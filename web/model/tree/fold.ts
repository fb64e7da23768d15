// Runs of the interpreter's own calls that a reader can do without become one box: those from the first frame of a
// thread to the first Python function, and those that only pass a call on. A view of a tree, and itself a tree: boxes
// keep their rows, a run is shown as its first box, and no number changes.
// The rule is that of `genba tree` (crates/profile/src/views/tree/fold.rs): testdata/page/fold.json holds both to the same runs and figures.
import type { Frame } from "../tables/profile";
import type { Place, Tree, Weights } from "./tree";
import { parentOf, placeOf, ROOT } from "./tree";
import type { BoxIndex, Weight } from "../units";
import { byWeight } from "../units";

/** A call with this much self time, or this much time in a second callee, is shown. */
const SHARE_MIN = 0.01;
/** A run of one call is not folded: its box would take the same room. */
const CALLS_MIN = 2;
export interface FoldedTree extends Tree {
  /** For each call of a folded run: all calls of that run, the shown call first. */
  readonly runOf: ReadonlyMap<BoxIndex, readonly BoxIndex[]>;
}

/** `opened`: calls whose runs stay open. */
export function foldTree<Whole extends Tree>(tree: Whole, weight: Weight, opened: ReadonlySet<BoxIndex>): FoldedTree & Whole {
  const runs = runsOf(tree, weight).filter((calls) => !calls.some((call) => opened.has(call)));
  const runOf = new Map(runs.flatMap((calls) => calls.map((call) => [call, calls] as const)));
  if (runs.length === 0) return { ...tree, runOf };
  const places: Place[] = [...tree.places];
  const [parent, place, depth] = [tree.parent.slice(), tree.place.slice(), tree.depth.slice()];
  for (const calls of runs) {
    const [first = ROOT] = calls;
    place[first] = places.push({ kind: "folded", calls: calls.length, opens: true }) - 1;
  }
  for (let box = ROOT + 1; box < parent.length; box += 1) {
    const run = runOf.get(parentOf(tree, box as BoxIndex));
    if (run !== undefined && runOf.get(box as BoxIndex) !== run) parent[box] = run[0] ?? ROOT;
    depth[box] = (depth[parent[box] ?? ROOT] ?? 0) + 1;
  }
  return { ...tree, places, parent, place, depth, self: selvesOf(tree, runs), childrenOf: childrenOf(tree, runOf), runOf };
}

/** The box that shows a box: the box itself, or the first box of its folded run. */
export function standsFor(tree: FoldedTree, box: BoxIndex): BoxIndex {
  return tree.runOf.get(box)?.[0] ?? box;
}

/** The children of a run's calls that are not part of the run. */
function childrenOf(tree: Tree, runOf: FoldedTree["runOf"]): Tree["childrenOf"] {
  return (box, weight) => {
    const run = runOf.get(box);
    if (run === undefined) return tree.childrenOf(box, weight);
    const weights = tree.total[weight];
    const children = run.flatMap((call) => tree.childrenOf(call, weight)).filter((child) => runOf.get(child) !== run);
    return children.sort((a, b) => (weights[b] ?? 0) - (weights[a] ?? 0) || a - b);
  };
}

/** The self time of a run belongs to its first box. */
function selvesOf(tree: Tree, runs: readonly (readonly BoxIndex[])[]): Weights {
  return byWeight((weight) => {
    const self = tree.self[weight];
    const isThere = runs.some((calls) => calls.slice(1).some((call) => (self[call] ?? 0) > 0));
    if (!isThere) return self;
    const sums = self.slice();
    for (const calls of runs) sums[calls[0] ?? ROOT] = calls.reduce((sum, call) => sum + (self[call] ?? 0), 0);
    return sums;
  });
}

/** Every run, open or folded. Only heavy boxes are examined, because a run has no others. */
function runsOf(tree: Tree, weight: Weight): BoxIndex[][] {
  const smallest = Math.max(SHARE_MIN * (tree.total[weight][ROOT] ?? 0), 1);
  const heavyOf = (box: BoxIndex): BoxIndex[] => tree.childrenOf(box, weight).filter((child) => (tree.total[weight][child] ?? 0) >= smallest);
  const all: BoxIndex[] = [ROOT];
  for (const box of all) all.push(...heavyOf(box));
  const leadsToPython = new Set<BoxIndex>();
  for (const box of all.reverse()) {
    if (box === ROOT) continue;
    const above = parentOf(tree, box);
    if (leadsToPython.has(box) || isPython(placeOf(tree, box))) leadsToPython.add(above);
  }
  const isOfNoInterest = (box: BoxIndex, leads: boolean): boolean => {
    const place = placeOf(tree, box);
    const mayFold = passesOn(place) || (leads && isOwn(foreignFrame(place)) && leadsToPython.has(box));
    return mayFold && (tree.self[weight][box] ?? 0) < smallest && heavyOf(box).length > 0;
  };
  const runs: BoxIndex[][] = [];
  const waiting: { box: BoxIndex; leads: boolean }[] = heavyOf(ROOT).map((box) => ({ box, leads: true }));
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    const { leads } = at;
    const calls: BoxIndex[] = [];
    for (let next: BoxIndex | null = at.box; next !== null && isOfNoInterest(next, leads); ) {
      calls.push(next);
      const heavy: BoxIndex[] = heavyOf(next);
      next = heavy.length === 1 ? (heavy[0] ?? null) : null;
    }
    const isRun = calls.length >= CALLS_MIN && calls.some((call) => {
      const place = placeOf(tree, call);
      return passesOn(place) || foreignFrame(place)?.owner === "interpreter";
    });
    if (isRun) runs.push(calls);
    const last = isRun ? (calls.at(-1) ?? at.box) : at.box;
    const place = placeOf(tree, last);
    const leadsOn = leads && (place.kind === "process" || isOwn(foreignFrame(place)));
    for (const box of heavyOf(last)) waiting.push({ box, leads: leadsOn });
  }
  return runs;
}

function foreignFrame(place: Place): Frame | null {
  return place.kind === "foreign" && place.frame.kind !== "mark" ? place.frame : null;
}
function isOwn(frame: Frame | null): boolean {
  return frame?.owner === "interpreter" || frame?.owner === "libc";
}
function isPython(place: Place): boolean {
  return place.kind === "function" || place.kind === "expression";
}
/** A function of the interpreter that only passes a call or an import on. */
export function passesOn(place: Place): boolean {
  return "frame" in place && place.frame.passesOn;
}
