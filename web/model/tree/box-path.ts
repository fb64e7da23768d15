// The way from the root to a box, in a word that names the same box in another tree: after a filter, or in a link that is
// opened on another recording of the same program.
import type { Tree } from "./tree";
import { pathTo, ROOT } from "./tree";
import type { BoxIndex } from "../units";
import { WEIGHTS } from "../units";

const SEPARATOR = ".";

/** A short word for each place on the way, root left out; "" is the root. */
export function wordOf(tree: Tree, box: BoxIndex): string {
  return pathTo(tree, box).slice(1).map((at) => placeWord(tree, at)).join(SEPARATOR);
}

/** The box that a word names, or the last one on the way to it that is there. */
export function boxOf(tree: Tree, word: string): BoxIndex {
  let box = ROOT;
  for (const step of word === "" ? [] : word.split(SEPARATOR)) {
    const next = childrenOf(tree, box).find((child) => placeWord(tree, child) === step);
    if (next === undefined) return box;
    box = next;
  }
  return box;
}

/** In any weight. */
function childrenOf(tree: Tree, box: BoxIndex): readonly BoxIndex[] {
  return [...new Set(WEIGHTS.flatMap((weight) => tree.childrenOf(box, weight)))];
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
