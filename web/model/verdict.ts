// The verdict's lines, cut into text and the places that a box of the tree shows: `prices.py:6` leads to the heaviest box
// of an expression in that line, or to the function that begins there, `total (prices.py)` to that of the function. The
// words are the report's own.
import type { Frame, Verdict } from "./profile";
import type { Tree } from "./tree";
import type { BoxIndex, Weight } from "./units";

/** A part of a line. `box`: the box that it leads to; null: plain text. */
export interface Piece {
  readonly text: string;
  readonly box: BoxIndex | null;
}

const PLACE = /(?<file>[^\s():,]+):(?<line>\d+)|(?<name>[^\s(]\S*) \((?<home>[^\s():]+)\)/g;

/** First the line that follows the name, then the details. */
export function verdictLines(tree: Tree, verdict: Verdict, weight: Weight): Piece[][] {
  return [verdict.words, ...verdict.details].map((line) =>
    pieces(line, ({ file, line: at, name, home }) => {
      if (file !== undefined) return boxAt(tree, weight, { file, line: Number(at) });
      return heaviest(tree, weight, (frame, kind) => kind === "function" && frame.name === name && isIn(frame, home ?? ""));
    }),
  );
}

type Groups = Readonly<Record<string, string | undefined>>;
function pieces(line: string, boxOf: (place: Groups) => BoxIndex | null): Piece[] {
  const found: Piece[] = [];
  let from = 0;
  for (const match of line.matchAll(PLACE)) {
    const [text] = match;
    const box = boxOf(match.groups ?? {});
    if (box === null) continue;
    if (match.index > from) found.push({ text: line.slice(from, match.index), box: null });
    found.push({ text, box });
    from = match.index + text.length;
  }
  if (from < line.length) found.push({ text: line.slice(from), box: null });
  return found;
}

function boxAt(tree: Tree, weight: Weight, at: { file: string; line: number }): BoxIndex | null {
  const expression = heaviest(tree, weight, (frame, kind) => kind === "expression" && frame.line === at.line && isIn(frame, at.file));
  const isThere = (frame: Frame): boolean => [frame.line, frame.firstLine].includes(at.line) && isIn(frame, at.file);
  return expression ?? heaviest(tree, weight, (frame, kind) => kind === "function" && isThere(frame));
}

/** The verdict shortens a path to the part that differs from other paths. */
function isIn(frame: Frame, file: string): boolean {
  return frame.file === file || frame.file?.endsWith(`/${file}`) === true;
}

function heaviest(tree: Tree, weight: Weight, isWanted: (frame: Frame, kind: string) => boolean): BoxIndex | null {
  const wanted = tree.places.map((place) => "frame" in place && isWanted(place.frame, place.kind));
  if (!wanted.includes(true)) return null;
  const weights = tree.total[weight];
  let best: number | null = null;
  for (let box = 0; box < tree.place.length; box += 1) {
    const isThere = wanted[tree.place[box] ?? 0] === true && (weights[box] ?? 0) > 0;
    if (isThere && (best === null || (weights[box] ?? 0) > (weights[best] ?? 0))) best = box;
  }
  return best as BoxIndex | null;
}
