// The lines of a file with what each costs, and its expressions with the boxes that they lead to.
import type { LineShares } from "./source";
import type { Source } from "./tables/profile";
import type { Tree } from "./tree/tree";
import { placeOf, share, siteOf } from "./tree/tree";
import type { BoxIndex, Share, Weight } from "./units";
import { placeWhere } from "./words";

export interface ListedFile {
  readonly path: string;
  readonly fileName: string;
  /** Of its heaviest line; null: no line of it was seen. */
  readonly share: Share | null;
}

export interface ListedLine {
  readonly line: number;
  readonly text: string;
  /** Of the samples with this line anywhere on their stack; null: none. */
  readonly total: Share | null;
  /** Of the samples in which the line itself ran, with no call below it; null: none. */
  readonly own: Share | null;
  /** The heaviest box of an expression in it; null: none. */
  readonly box: BoxIndex | null;
  readonly expressions: readonly Expression[];
}
interface Expression {
  readonly from: number;
  /** Exclusive; past the end for one that goes on in the next line. */
  readonly to: number;
  readonly box: BoxIndex;
  readonly share: Share;
}

export interface Spot {
  readonly file: string | null;
  readonly line: number | null;
}

/** The line of a box, or of the expression that it was called from. */
export function spotOf(tree: Tree, box: BoxIndex): Spot | null {
  for (const at of [box, siteOf(tree, box)]) {
    const place = at === null ? null : placeOf(tree, at);
    if (place !== null && (place.kind === "expression" || place.kind === "function") && placeWhere(place) !== "") {
      return { file: place.frame.file, line: place.kind === "expression" ? place.frame.line : place.frame.firstLine };
    }
  }
  return null;
}

/** Heaviest first. */
export function filesByShare(sources: readonly Source[], shares: LineShares): ListedFile[] {
  const files = sources.map(({ path, fileName }) => {
    const ofLines = [...(shares.get(path)?.values() ?? [])];
    return { path, fileName, share: ofLines.length === 0 ? null : (Math.max(...ofLines) as Share) };
  });
  return files.sort((a, b) => (b.share ?? -1) - (a.share ?? -1));
}

export function sourceLines(of: { sources: readonly Source[]; tree: Tree; shares: LineShares; weight: Weight; file: string }): ListedLine[] {
  const chunks = of.sources.find(({ path }) => path === of.file)?.chunks ?? [];
  const expressions = expressionsOf(of.tree, of.weight, of.file);
  const shares = of.shares.get(of.file);
  return chunks.flatMap(({ firstLine, lines }) =>
    lines.map((text, at) => {
      const line = firstLine + at;
      const here = expressions.get(line);
      return { line, text, total: shares?.get(line) ?? null, own: here?.own ?? null, box: here?.expressions[0]?.box ?? null, expressions: here?.expressions ?? [] };
    }),
  );
}

/** By line, the heaviest first. */
function expressionsOf(tree: Tree, weight: Weight, file: string): Map<number, { expressions: Expression[]; own: Share | null }> {
  const weights = tree.total[weight];
  const whole = weights[0] ?? 0;
  const ofPlace = new Map<number, { box: number; total: number; own: number }>();
  const isThere = tree.places.map((place) => place.kind === "expression" && place.frame.file === file);
  for (let box = 0; box < tree.place.length; box += 1) {
    const place = tree.place[box] ?? 0;
    if (isThere[place] !== true) continue;
    const known = ofPlace.get(place) ?? { box, total: 0, own: 0 };
    known.total += weights[box] ?? 0;
    known.own += tree.self[weight][box] ?? 0;
    if ((weights[box] ?? 0) > (weights[known.box] ?? 0)) known.box = box;
    ofPlace.set(place, known);
  }
  const lines = new Map<number, { expressions: Expression[]; own: Share | null }>();
  for (const [index, { box, total, own }] of ofPlace) {
    const place = tree.places[index];
    if (place?.kind !== "expression" || place.frame.line === null || total === 0) continue;
    const { line, column, endColumn, endLine } = place.frame;
    const known = lines.get(line) ?? { expressions: [], own: null };
    const to = endLine !== null && endLine > line ? Infinity : (endColumn ?? 0);
    known.expressions.push({ from: column ?? 0, to: column === null ? 0 : to, box: box as BoxIndex, share: share(total, whole) });
    if (own > 0) known.own = share((known.own ?? 0) * whole + own, whole);
    lines.set(line, known);
  }
  for (const { expressions } of lines.values()) expressions.sort((a, b) => b.share - a.share);
  return lines;
}

export interface LinePart {
  readonly text: string;
  readonly box: BoxIndex | null;
  readonly share: Share | null;
}

/** A line cut at its expressions. Where one lies in another, the innermost has its text. */
export function markedLine({ text, expressions }: Pick<ListedLine, "text" | "expressions">): LinePart[] {
  const characters = Array.from(text);
  const innermost = [...expressions].sort((a, b) => b.to - b.from - (a.to - a.from));
  const owner = characters.map((): Expression | null => null);
  for (const expression of innermost) {
    for (let at = Math.max(expression.from, 0); at < Math.min(expression.to, characters.length); at += 1) owner[at] = expression;
  }
  const parts: { text: string; box: BoxIndex | null; share: Share | null }[] = [];
  characters.forEach((character, at) => {
    const expression = owner[at] ?? null;
    const last = parts.at(-1);
    if (last !== undefined && at > 0 && (owner[at - 1] ?? null) === expression) last.text += character;
    else parts.push({ text: character, box: expression?.box ?? null, share: expression?.share ?? null });
  });
  return parts;
}
