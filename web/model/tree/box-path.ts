// The way from the root to a box, in a word that names the same box in another tree: after a filter, or in a link that is
// opened on another recording of the same program.
import type { Tree } from "./tree";
import { pathTo, ROOT } from "./tree";
import type { BoxIndex } from "../units";

const SEPARATOR = ".";

/** A short word for each place on the way, root left out; "" is the root. */
export function wordOf(tree: Tree, box: BoxIndex): string {
  return pathTo(tree, box).slice(1).map((at) => placeWord(tree, at)).join(SEPARATOR);
}

/**
 * The box that a word names. Where it is not in the tree: the box with most of the steps on its way, in their order, and with the fewest others, for a
 * filter takes frames out of the way or lets them in again. Of several the one that is nearest to its beginning.
 */
export function boxOf(tree: Tree, word: string): BoxIndex {
  const steps = word.split(SEPARATOR);
  const words = tree.keys.map(hashed);
  // Of each box: how far its way leads along the steps, and how well: a step that is taken counts most.
  const far = new Int32Array(tree.place.length);
  const rank = new Float64Array(far.length);
  let best = ROOT;
  tree.place.forEach((place, row) => {
    const above = tree.parent[row] ?? 0;
    const from = far[above] ?? 0;
    const at = row === ROOT ? -1 : steps.indexOf(words[place] ?? "", from);
    far[row] = at < 0 ? from : at + 1;
    const now = (rank[above] ?? 0) + (at < 0 ? -1 : 1e6 - at / 1e6);
    rank[row] = now;
    if (at >= 0 && now > (rank[best] ?? 0)) best = row as BoxIndex;
  });
  return best;
}

function placeWord(tree: Tree, box: BoxIndex): string {
  return hashed(tree.keys[tree.place[box] ?? 0] ?? "");
}

/** FNV-1a of 32 bits: siblings rarely share one, and then the heavier is meant. */
function hashed(text: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash >>> 0).toString(36);
}
