// The tree of boxes: the recorded stacks with equal places merged under equal parents, and nowhere else, so that one
// function's different callers, and each depth of a recursion, stay apart.
// A function of the user's own that hands over to foreign code (or runs itself) gets one more box for the expression it
// stood at. A waiting sample ends in a box named by its state.
import { Column, Pairs } from "./columns";
import type { Frame, Profile } from "../tables/profile";
import type { BoxIndex, FrameIndex, PlaceIndex, ProcessIndex, Share, StackIndex, ThreadIndex, Weighed, Weight } from "../units";
import { byWeight, WEIGHTS } from "../units";

/** What a box says. Two boxes of one place are the same function (or expression, or state) reached in two ways. */
export type Place =
  | { readonly kind: "root" }
  | { readonly kind: "process"; readonly process: ProcessIndex }
  | { readonly kind: "function"; readonly frame: Frame }
  | { readonly kind: "expression"; readonly frame: Frame }
  | { readonly kind: "foreign"; readonly frame: Frame }
  | { readonly kind: "state"; readonly state: string }
  | { readonly kind: "thread"; readonly thread: ThreadIndex }
  /** How many calls of the interpreter this box replaces (fold.ts), and whether a click shows them. */
  | { readonly kind: "folded"; readonly calls: number; readonly opens: boolean };

export interface Tree {
  readonly places: readonly Place[];
  /** Of each place: the same in every recording of the same program. */
  readonly keys: readonly string[];
  /** Columns, one row a box; a parent stands before its children and the root is its own parent. */
  readonly parent: Int32Array;
  readonly place: Int32Array;
  readonly depth: Int32Array;
  /** How many boxes are below. */
  readonly below: Int32Array;
  readonly total: Weights;
  readonly self: Weights;
  readonly childrenOf: (box: BoxIndex, weight: Weight) => readonly BoxIndex[];
}
/** The tree of a profile's samples. */
export interface CallTree extends Tree {
  /** Of each row of `Samples` the box that it ended in. */
  readonly leafOf: Int32Array;
}
export interface Weights {
  readonly cpu: Float64Array;
  readonly wall: Float64Array;
  readonly samples: Float64Array;
  readonly copied: Float64Array;
  readonly allocated: Float64Array;
}

export const ROOT = 0 as BoxIndex;

export function buildTree(profile: Profile): CallTree {
  const growing = new Growing(profile);
  const { stack, thread, state } = profile.samples;
  const owners = stack.map((_, row) => profile.threads[thread[row] ?? 0]?.process ?? (0 as ProcessIndex));
  const leaves = new Int32Array(stack.length);
  // One process after the other, as Growing wants it.
  const order = owners.map((_, row) => row).sort((a, b) => (owners[a] ?? 0) - (owners[b] ?? 0));
  for (const row of order) {
    leaves[row] = growing.leaf(stack[row] ?? null, owners[row] ?? (0 as ProcessIndex), profile.states[state[row] ?? 0] ?? "running");
  }
  const { places } = growing;
  const [parents, place, depth] = [growing.parent.finished(), growing.place.finished(), growing.depth.finished()];
  const boxes = parents.length;
  const self = emptyWeights(boxes);
  for (const weight of WEIGHTS) {
    const sums = self[weight];
    leaves.forEach((box, row) => {
      sums[box] = (sums[box] ?? 0) + rowWeight(profile, weight, row);
    });
  }

  const { total, below } = sumUpwards(parents, self);
  return { places, keys: growing.keys, parent: parents, place, depth, below, total, self, leafOf: leaves, childrenOf: childrenByWeight(parents, total) };
}

/** Running threads are observed; waiting threads only have wall time. */
export function isRunning(state: string): boolean {
  return state === "running" || state === "in gc";
}
/** Of a row of `Samples`. */
export function rowWeight({ samples, states }: Profile, weight: Weight, row: number): number {
  const counts = weight !== "samples" || isRunning(states[samples.state[row] ?? 0] ?? "running");
  return counts ? (samples[weight][row] ?? 0) : 0;
}

export function weightOf(weights: Weights, box: BoxIndex, weight: Weight): Weighed {
  return (weights[weight][box] ?? 0) as Weighed;
}
export function shareOf(tree: Tree, box: BoxIndex, weight: Weight): Share {
  return share(weightOf(tree.total, box, weight), weightOf(tree.total, ROOT, weight));
}
export function share(part: number, whole: number): Share {
  return (whole > 0 ? part / whole : 0) as Share;
}
export function placeOf(tree: Tree, box: BoxIndex): Place {
  return tree.places[tree.place[box] ?? 0] ?? { kind: "root" };
}
export function parentOf(tree: Tree, box: BoxIndex): BoxIndex {
  return (tree.parent[box] ?? ROOT) as BoxIndex;
}
/** From the root down to the box itself. */
export function pathTo(tree: Tree, box: BoxIndex): BoxIndex[] {
  const path = [box];
  for (let at = box; at !== ROOT; path.push(at)) at = parentOf(tree, at);
  return path.reverse();
}
/** The expression of the user's own that a foreign box was called from. */
export function siteOf(tree: Tree, box: BoxIndex): BoxIndex | null {
  return pathTo(tree, box).findLast((at) => at !== box && placeOf(tree, at).kind === "expression") ?? null;
}

export function emptyWeights(boxes: number): Weights {
  return byWeight(() => new Float64Array(boxes));
}

/** What each box weighs with all below it, and how many these are. A parent stands before its children. */
export function sumUpwards(parent: Int32Array, self: Weights): { total: Weights; below: Int32Array } {
  const boxes = parent.length;
  const [total, below] = [emptyWeights(boxes), new Int32Array(boxes)];
  for (const weight of WEIGHTS) {
    const sums = total[weight];
    sums.set(self[weight]);
    for (let box = boxes - 1; box > ROOT; box -= 1) {
      const above = parent[box] ?? ROOT;
      sums[above] = (sums[above] ?? 0) + (sums[box] ?? 0);
    }
  }
  for (let box = boxes - 1; box > ROOT; box -= 1) {
    const above = parent[box] ?? ROOT;
    below[above] = (below[above] ?? 0) + (below[box] ?? 0) + 1;
  }
  return { total, below };
}

/** Children, heaviest first; those that weigh nothing are not there. Sorted when first asked for. */
export function childrenByWeight(parent: Int32Array, total: Weights): Tree["childrenOf"] {
  const starts = new Int32Array(parent.length + 1);
  parent.forEach((at, box) => {
    if (box !== ROOT) starts[at + 1] = (starts[at + 1] ?? 0) + 1;
  });
  for (let box = 0; box < parent.length; box += 1) starts[box + 1] = (starts[box + 1] ?? 0) + (starts[box] ?? 0);
  const next = starts.slice();
  const all = new Int32Array(Math.max(parent.length - 1, 0));
  parent.forEach((at, box) => {
    if (box === ROOT) return;
    all[next[at] ?? 0] = box;
    next[at] = (next[at] ?? 0) + 1;
  });
  const sorted = byWeight(() => new Map<BoxIndex, BoxIndex[]>());
  return (box, weight) => {
    const known = sorted[weight].get(box);
    if (known !== undefined) return known;
    const weights = total[weight];
    const children = Array.from(all.subarray(starts[box] ?? 0, starts[box + 1] ?? 0), (child) => child as BoxIndex)
      .filter((child) => (weights[child] ?? 0) > 0)
      .sort((a, b) => (weights[b] ?? 0) - (weights[a] ?? 0) || a - b);
    sorted[weight].set(box, children);
    return children;
  };
}

/** The tree while it grows. A stack becomes boxes once per process; equal children of a box are found by place. */
class Growing {
  readonly places: Place[] = [{ kind: "root" }];
  readonly keys: string[] = ["root"];
  readonly parent = new Column();
  readonly place = new Column();
  readonly depth = new Column();
  private readonly children: Pairs;
  private readonly indexOf = new Map<string, PlaceIndex>();
  /** Of each frame: its own box, and the box for its expression where it has one. */
  private readonly framePlaces: { frame: PlaceIndex; expression: PlaceIndex | null }[];
  private readonly tops: BoxIndex[];
  /** Of the process that is being looked at the box of each stack, + 1; 0: none yet. */
  private readonly boxes: Int32Array;
  private readonly touched: StackIndex[] = [];
  private process: ProcessIndex | null = null;

  constructor(private readonly profile: Profile) {
    const { processes, frames } = profile;
    this.children = new Pairs(this.parent, this.place, profile.stacks.parent.length);
    for (const column of [this.parent, this.place, this.depth]) column.push(ROOT);
    this.framePlaces = frames.map((frame) => ({
      frame: this.placeOf(frame.kind === "python" ? functionKey(frame) : foreignKey(frame), placeOfFrame(frame)),
      expression: hasExpression(frame) ? this.placeOf(`expression ${expressionKey(frame)}`, { kind: "expression", frame }) : null,
    }));
    this.boxes = new Int32Array(profile.stacks.parent.length);
    this.tops = processes.map((_, row) => {
      const process = row as ProcessIndex;
      return processes.length === 1 ? ROOT : this.child(ROOT, this.placeOf(`process ${row}`, { kind: "process", process }));
    });
  }

  leaf(stack: StackIndex | null, process: ProcessIndex, state: string): BoxIndex {
    const box = stack === null ? this.top(process) : this.handingOver(stack, this.functionBox(stack, process));
    return state === "running" ? box : this.child(box, this.placeOf(`state ${state}`, { kind: "state", state }));
  }

  /** The box of the stack's leaf frame. A loop, not a recursion: stacks are deep. */
  private functionBox(stack: StackIndex, process: ProcessIndex): BoxIndex {
    const known = this.boxesOf(process);
    const missing: StackIndex[] = [];
    let at: StackIndex | null = stack;
    while (at !== null && known[at] === 0) {
      missing.push(at);
      at = this.profile.stacks.parent[at] ?? null;
    }
    let above = at;
    let box = above === null ? this.top(process) : (((known[above] ?? 0) - 1) as BoxIndex);
    for (const node of missing.reverse()) {
      const under = above === null || isOwn(this.frame(node)) ? box : this.handingOver(above, box);
      box = this.child(under, this.placesOf(node).frame);
      known[node] = box + 1;
      this.touched.push(node);
      above = node;
    }
    return box;
  }

  /** The box below which foreign frames, waiting, and the frame's own work hang. */
  private handingOver(stack: StackIndex, box: BoxIndex): BoxIndex {
    const { expression } = this.placesOf(stack);
    return expression === null ? box : this.child(box, expression);
  }

  private boxesOf(process: ProcessIndex): Int32Array {
    if (process !== this.process) {
      for (const stack of this.touched) this.boxes[stack] = 0;
      this.touched.length = 0;
      this.process = process;
    }
    return this.boxes;
  }

  private top(process: ProcessIndex): BoxIndex {
    return this.tops[process] ?? ROOT;
  }
  private frame(stack: StackIndex): Frame {
    const frame = this.profile.frames[this.frameIndex(stack)];
    if (frame === undefined) throw new RangeError(`stack ${stack} names frame ${this.frameIndex(stack)}, which is not there`);
    return frame;
  }
  private frameIndex(stack: StackIndex): FrameIndex {
    return this.profile.stacks.frame[stack] ?? (0 as FrameIndex);
  }
  private placesOf(stack: StackIndex): { frame: PlaceIndex; expression: PlaceIndex | null } {
    return this.framePlaces[this.frameIndex(stack)] ?? { frame: 0 as PlaceIndex, expression: null };
  }

  private child(parent: BoxIndex, place: PlaceIndex): BoxIndex {
    const found = this.children.row(parent, place);
    if (found !== null) return found as BoxIndex;
    const box = this.parent.length as BoxIndex;
    this.parent.push(parent);
    this.place.push(place);
    this.depth.push(this.depth.at(parent) + 1);
    this.children.add(box);
    return box;
  }

  private placeOf(key: string, place: Place): PlaceIndex {
    const found = this.indexOf.get(key);
    if (found !== undefined) return found;
    const index = this.places.length as PlaceIndex;
    this.places.push(place);
    this.keys.push(key);
    this.indexOf.set(key, index);
    return index;
  }
}

function isOwn(frame: Frame): boolean {
  return frame.kind === "python" && frame.owner === "user";
}
function hasExpression(frame: Frame): boolean {
  return isOwn(frame) && frame.line !== null;
}
function placeOfFrame(frame: Frame): Place {
  return { kind: frame.kind === "python" ? "function" : "foreign", frame };
}
function functionKey(frame: Frame): string {
  return `function ${JSON.stringify([frame.name, frame.file, frame.firstLine])}`;
}
/** A C function is one place, whichever line of its source it was in. */
function foreignKey(frame: Frame): string {
  return `foreign ${JSON.stringify([frame.kind, frame.name, frame.fullName, frame.module])}`;
}
/** The same expression, wherever it is asked for: rows of the report are matched by it, too. */
export function expressionKey(at: Pick<Frame, "file" | "line" | "endLine" | "column" | "endColumn" | "byteColumn" | "byteEndColumn">): string {
  return JSON.stringify([at.file, at.line, at.endLine, at.column, at.endColumn, at.byteColumn, at.byteEndColumn]);
}
