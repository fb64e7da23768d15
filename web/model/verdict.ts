// The verdict's lines with the boxes that their places lead to: `prices.py:6 total` to the heaviest box of an expression in that line, or
// to the function, `total (prices.py)` to that of the function. The words are the report's own.
import type { Frame, SourcePlace, Verdict } from "./tables/profile";
import { heaviest } from "./tree/everywhere";
import type { Tree } from "./tree/tree";
import type { BoxIndex, Weight } from "./units";

/** A part of a line. `box`: the box that it leads to; null: plain text. */
export interface Piece {
  readonly text: string;
  readonly box: BoxIndex | null;
}

/** First the line that follows the name, then the details. */
export function verdictLines(tree: Tree, verdict: Verdict, weight: Weight): Piece[][] {
  return verdict.lines.map((line) => line.map(({ text, place }) => ({ text, box: place === null ? null : boxAt(tree, weight, place) })));
}

/** The first line alone: `… the cycle collector, set off by:` opens a list that is not shown. Source text, as in other lines, keeps its colon. */
export function withoutOpening(line: readonly Piece[]): readonly Piece[] {
  const [only] = line;
  return line.length === 1 && only !== undefined ? [{ ...only, text: only.text.replace(/(?:(?<=\.)|,) [^,.]*:$/, "") }] : line;
}

function boxAt(tree: Tree, weight: Weight, { file, line, function: name }: SourcePlace): BoxIndex | null {
  const at = (isWanted: (frame: Frame, kind: string) => boolean): BoxIndex | null => {
    const wanted = tree.places.map((place) => "frame" in place && isWanted(place.frame, place.kind));
    return heaviest(tree, weight, (place, weighs) => weighs > 0 && wanted[place] === true);
  };
  const expression = line === null ? null : at((frame, kind) => kind === "expression" && frame.file === file && frame.line === line);
  return expression ?? at((frame, kind) => kind === "function" && frame.file === file && frame.name === name);
}
