// The call tree in the order of time, a thread below the other: boxes of equal places merge only where one follows the other.
// Within a bin of time the order is not known: its samples stand in the order of the call tree.
import { Column } from "../columns";
import { standsFor } from "../fold";
import type { FoldedTree } from "../fold";
import type { Moments, Profile } from "../../tables/profile";
import type { CallTree, Place } from "../tree";
import { emptyWeights, isRunning, parentOf, pathTo, placeOf, ROOT, sumUpwards } from "../tree";
import type { BoxIndex, PlaceIndex, ThreadIndex, Weight } from "../../units";

/** `tree` is that of `profile`, whose moments these are. The interpreter's calls are folded as in `tree`, and stay so. */
export function inTime(tree: FoldedTree & CallTree, profile: Profile, moments: Moments): FoldedTree {
  const growing = new Growing(tree, profile, moments);
  for (const { thread, rows } of rowsByThread(profile, moments)) growing.add(thread, rows);
  return growing.finished();
}

/** Rows of `moments`, in the order of time; the thread with the most wall time first. */
function rowsByThread({ samples }: Profile, moments: Moments): { thread: ThreadIndex; rows: number[] }[] {
  const threads = new Map<ThreadIndex, { wall: number; rows: number[] }>();
  moments.row.forEach((row, at) => {
    const thread = samples.thread[row] ?? (0 as ThreadIndex);
    const known = threads.get(thread) ?? { wall: 0, rows: [] };
    known.wall += moments.wall[at] ?? 0;
    known.rows.push(at);
    threads.set(thread, known);
  });
  return [...threads].sort(([, a], [, b]) => b.wall - a.wall).map(([thread, { rows }]) => ({ thread, rows }));
}

class Growing {
  private readonly parent = new Column();
  private readonly place = new Column();
  /** Of each box of the call tree its number from the top down, so that neighbours share a path. */
  private readonly order: Int32Array;
  private readonly ends: { readonly box: number; readonly at: number }[] = [];
  private readonly places: Place[];
  private readonly keys: string[];
  private readonly threads: number;

  constructor(private readonly tree: FoldedTree & CallTree, private readonly profile: Profile, private readonly moments: Moments) {
    this.parent.push(ROOT);
    this.place.push(0);
    this.order = orderOf(tree);
    this.places = tree.places.map((place) => (place.kind === "folded" ? { ...place, opens: false } : place));
    this.keys = [...tree.keys];
    this.threads = new Set(profile.samples.thread).size;
  }

  add(thread: ThreadIndex, rows: readonly number[]): void {
    const { bin, row } = this.moments;
    const leafAt = (at: number): BoxIndex => standsFor(this.tree, (this.tree.leafOf[row[at] ?? 0] ?? ROOT) as BoxIndex);
    const sorted = [...rows].sort((a, b) => (bin[a] ?? 0) - (bin[b] ?? 0) || (this.order[leafAt(a)] ?? 0) - (this.order[leafAt(b)] ?? 0));
    const top = this.threads === 1 ? ROOT : this.push(ROOT, this.threadPlace(thread));
    /** The path of the last sample, in boxes of the call tree and of this one. */
    let open: { readonly call: BoxIndex; readonly box: number }[] = [];
    for (const at of sorted) {
      const path = pathTo(this.tree, leafAt(at)).filter((call) => call !== ROOT && placeOf(this.tree, call).kind !== "process");
      let shared = 0;
      while (shared < path.length && open[shared]?.call === path[shared]) shared += 1;
      open = open.slice(0, shared);
      for (const call of path.slice(shared)) open.push({ call, box: this.push(open.at(-1)?.box ?? top, this.tree.place[call] ?? 0) });
      this.ends.push({ box: open.at(-1)?.box ?? top, at });
    }
  }

  finished(): FoldedTree {
    const [parent, place] = [this.parent.finished(), this.place.finished()];
    const boxes = parent.length;
    const self = emptyWeights(boxes);
    for (const { box, at } of this.ends) {
      self.cpu[box] = (self.cpu[box] ?? 0) + (this.moments.cpu[at] ?? 0);
      self.wall[box] = (self.wall[box] ?? 0) + (this.moments.wall[at] ?? 0);
      self.samples[box] = (self.samples[box] ?? 0) + (this.isRunning(at) ? (this.moments.samples[at] ?? 0) : 0);
    }
    const { total, below } = sumUpwards(parent, self);
    const depth = new Int32Array(boxes);
    const children: number[][] = [];
    for (let box = ROOT + 1; box < boxes; box += 1) {
      const above = parent[box] ?? ROOT;
      depth[box] = (depth[above] ?? 0) + 1;
      (children[above] ??= []).push(box);
    }
    const childrenOf = (box: BoxIndex, weight: Weight): BoxIndex[] => (children[box] ?? []).filter((child) => (total[weight][child] ?? 0) > 0) as BoxIndex[];
    return { places: this.places, keys: this.keys, parent, place, depth, below, self, total, childrenOf, runOf: new Map() };
  }

  private push(parent: number, place: number): number {
    this.parent.push(parent);
    this.place.push(place);
    return this.parent.length - 1;
  }

  private threadPlace(thread: ThreadIndex): PlaceIndex {
    this.keys.push(`thread ${thread}`);
    return (this.places.push({ kind: "thread", thread }) - 1) as PlaceIndex;
  }

  /** Samples of running threads are counted, as in the call tree. */
  private isRunning(at: number): boolean {
    const { samples, states } = this.profile;
    return isRunning(states[samples.state[this.moments.row[at] ?? 0] ?? 0] ?? "running");
  }
}

function orderOf(tree: FoldedTree): Int32Array {
  const order = new Int32Array(tree.parent.length);
  const next = new Int32Array(tree.parent.length);
  // A parent stands before its children: each child gets the numbers after those of the siblings before it.
  for (let box = ROOT + 1; box < tree.parent.length; box += 1) {
    const above = parentOf(tree, box as BoxIndex);
    order[box] = (order[above] ?? 0) + 1 + (next[above] ?? 0);
    next[above] = (next[above] ?? 0) + 1 + (tree.below[box] ?? 0);
  }
  return order;
}
