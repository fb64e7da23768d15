// Source text: a line cut into what stands before, in and after an expression, and the lines around a place with what
// each one weighs.
import type { Frame, Profile, Source } from "./tables/profile";
import { rowWeight, share } from "./tree/tree";
import type { Share, Weight } from "./units";

/** The line of an expression. An expression of several lines is underlined to the end of its first. */
export interface Marked {
  readonly before: string;
  readonly marked: string;
  readonly after: string;
  /** How many more lines the expression goes on. */
  readonly moreLines: number;
}
type Spot = Pick<Frame, "file" | "line" | "column" | "endColumn" | "expression">;

export function lineOf(sources: readonly Source[], file: string | null, line: number | null): string | null {
  if (file === null || line === null) return null;
  const source = sources.find((at) => at.path === file);
  const chunk = source?.chunks.find((at) => line >= at.firstLine && line < at.firstLine + at.lines.length);
  return chunk?.lines[line - chunk.firstLine] ?? null;
}

/** Null when the source was not recorded. Columns count characters, so the text is cut by characters. */
export function markExpression(sources: readonly Source[], spot: Spot): Marked | null {
  const text = lineOf(sources, spot.file, spot.line);
  if (text === null) return null;
  const characters = Array.from(text);
  const indent = characters.findIndex((at) => !/\s/.test(at));
  const from = spot.column ?? characters.length;
  const moreLines = spot.expression === null ? 0 : spot.expression.split("\n").length - 1;
  const to = moreLines > 0 ? characters.length : (spot.endColumn ?? from);
  const cut = (start: number, end: number): string => characters.slice(Math.max(start, indent, 0), Math.max(end, 0)).join("");
  return { before: cut(0, from), marked: cut(from, to), after: cut(to, characters.length), moreLines };
}

export interface SourceLine {
  readonly line: number;
  readonly text: string;
  /** Of the samples with this line anywhere on their stack; null: none. */
  readonly share: Share | null;
}

/** The recorded lines around one, with their shares. Empty when the source was not recorded. */
export function linesAround(profile: Profile, shares: LineShares, spot: { file: string; line: number; around: number }): SourceLine[] {
  const ofFile = shares.get(spot.file);
  const lines: SourceLine[] = [];
  for (let line = Math.max(1, spot.line - spot.around); line <= spot.line + spot.around; line += 1) {
    const text = lineOf(profile.sources, spot.file, line);
    if (text !== null) lines.push({ line, text, share: ofFile?.get(line) ?? null });
  }
  return withoutEmptyEnds(lines);
}

export type LineShares = ReadonlyMap<string, ReadonlyMap<number, Share>>;

/** The share of every Python line, each sample once a line however often the line is on its stack. */
export function lineShares(profile: Profile, weight: Weight): LineShares {
  const { frames, stacks, samples } = profile;
  const lineKeys = frames.map((frame) => (frame.kind === "python" && frame.file !== null && frame.line !== null ? `${frame.line} ${frame.file}` : null));
  const sums = new Map<string, number>();
  let whole = 0;
  samples.stack.forEach((leaf, row) => {
    const value = rowWeight(profile, weight, row);
    whole += value;
    if (value === 0) return;
    const seen = new Set<string>();
    for (let at = leaf; at !== null; at = stacks.parent[at] ?? null) {
      const key = lineKeys[stacks.frame[at] ?? 0] ?? null;
      if (key !== null) seen.add(key);
    }
    for (const key of seen) sums.set(key, (sums.get(key) ?? 0) + value);
  });
  const byFile = new Map<string, Map<number, Share>>();
  for (const [key, value] of sums) {
    const space = key.indexOf(" ");
    const file = key.slice(space + 1);
    const lines = byFile.get(file) ?? new Map<number, Share>();
    lines.set(Number(key.slice(0, space)), share(value, whole));
    byFile.set(file, lines);
  }
  return byFile;
}

function withoutEmptyEnds(lines: SourceLine[]): SourceLine[] {
  const first = lines.findIndex(({ text }) => text.trim() !== "");
  const last = lines.findLastIndex(({ text }) => text.trim() !== "");
  return first < 0 ? [] : lines.slice(first, last + 1);
}
