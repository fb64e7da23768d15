// Search: which boxes say what was typed, in names, expressions, files, modules. Plain text, upper and lower case alike; between slashes,
// as in `/^load/`, a regular expression.
import type { Place, Tree } from "./tree";
import { parentOf, ROOT, share } from "./tree";
import type { BoxIndex, Share, Weighed, Weight } from "../units";
import { stateName } from "../words";

export interface Found {
  /** 1 for each box that matches. */
  readonly matches: Uint8Array;
  /** Matching boxes with no match above them, heaviest first: where `n` and `N` go. */
  readonly stops: readonly BoxIndex[];
  /** What the stops weigh together, each sample once. */
  readonly weight: Weighed;
  readonly share: Share;
  /** What was typed is no expression. */
  readonly isWrong: boolean;
}

/** Null when nothing was typed. */
export function find(tree: Tree, weight: Weight, query: string): Found | null {
  const wanted = query.trim();
  if (wanted === "") return null;
  const isWanted = wantedBy(wanted);
  const placeMatches = tree.places.map((place) => isWanted !== null && textsOf(place).some(isWanted));
  const weights = tree.total[weight];
  const boxes = tree.parent.length;
  const matches = new Uint8Array(boxes);
  const covered = new Uint8Array(boxes);
  const stops: BoxIndex[] = [];
  for (let row = 0; row < boxes; row += 1) {
    const box = row as BoxIndex;
    const matching = placeMatches[tree.place[row] ?? 0] === true && (weights[row] ?? 0) > 0;
    const above = box !== ROOT && covered[parentOf(tree, box)] === 1;
    if (matching) matches[row] = 1;
    if (matching && !above) stops.push(box);
    covered[row] = matching || above ? 1 : 0;
  }
  stops.sort((a, b) => (weights[b] ?? 0) - (weights[a] ?? 0) || a - b);
  const sum = stops.reduce((sum, box) => sum + (weights[box] ?? 0), 0);
  return { matches, stops, weight: sum as Weighed, share: share(sum, weights[ROOT] ?? 0), isWrong: isWanted === null };
}

function wantedBy(wanted: string): ((text: string) => boolean) | null {
  const between = /^\/(?<pattern>.+)\/$/.exec(wanted)?.groups?.["pattern"];
  if (between === undefined) {
    const small = wanted.toLowerCase();
    return (text) => text.toLowerCase().includes(small);
  }
  try {
    const expression = new RegExp(between, "u");
    return (text) => expression.test(text);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

function textsOf(place: Place): string[] {
  switch (place.kind) {
    case "root":
    case "process":
    case "thread":
    case "folded":
      return [];
    case "state":
      // As the page names it, and as the recording does.
      return [stateName(place.state), place.state];
    case "expression":
      return [place.frame.expression ?? "", place.frame.file ?? ""];
    case "function":
    case "foreign":
      return [place.frame.name, place.frame.file ?? "", place.frame.module ?? ""];
  }
}
