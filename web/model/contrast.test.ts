// Every text can be read on what it stands on, in both themes: at least 4.5 : 1 (WCAG 2.2, 1.4.3), by the tokens of the style.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { TINTS } from "./tint";

const RATIO_MIN = 4.5;
const GROUNDS = ["sheet", "ground", "accent-soft"];
/** Lines of a chart: at least 3 : 1 (WCAG 2.2, 1.4.11). */
const LINE_RATIO_MIN = 3;
const LINES = [1, 2, 3, 4, 5, 6].map((number) => `series-${number}`);
/** Text, and the tokens that it is on. */
const TEXTS: readonly [string, readonly string[]][] = [
  ["ink", [...GROUNDS, "warn-soft"]],
  ["quiet", GROUNDS],
  ["faint", ["ground"]],
  ["accent", GROUNDS],
  ["hot", GROUNDS],
  ["warn", ["warn-soft"]],
  // Placeholders of fields, heads of the server's list and of its tokens.
  ["faint", ["sheet"]],
  // Buttons that are filled, and the letters of what is chosen.
  ["on-accent", ["accent", "accent-strong"]],
  ["more-text", ["sheet", "ground", "accent-soft"]],
  ["less-text", ["sheet", "ground", "accent-soft"]],
  // Names and shares in boxes.
  ["ink", [...TINTS, "run", "more", "less", "few"]],
  ["box-quiet", [...TINTS, "run", "more", "less", "few"]],
];

function tokens(theme: string): Map<string, string> {
  const style = readFileSync(`style/${theme}.css`, "utf8");
  return new Map([...style.matchAll(/--([\w-]+):\s*(#[0-9a-f]{6});/g)].map(([, name, colour]) => [name ?? "", colour ?? ""]));
}

function luminance(colour: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * (red ?? 0) + 0.7152 * (green ?? 0) + 0.0722 * (blue ?? 0);
}

function ratio(one: string, other: string): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return ((light ?? 0) + 0.05) / ((dark ?? 0) + 0.05);
}

test("the ratio is that of the standard", () => {
  assert.equal(ratio("#000000", "#ffffff").toFixed(2), "21.00");
  assert.equal(ratio("#777777", "#ffffff").toFixed(2), "4.48");
});

for (const theme of ["light", "dark"]) {
  test(`every text on every ground, ${theme}`, () => {
    const token = tokens(theme);
    const colour = (name: string): string => token.get(name) ?? assert.fail(`${theme}.css has no --${name}`);
    const pairs = TEXTS.flatMap(([text, grounds]) => grounds.map((ground) => ({ text, ground, is: ratio(colour(text), colour(ground)) })));
    const low = pairs.filter(({ is }) => is < RATIO_MIN).map(({ text, ground, is }) => `${text} on ${ground}: ${is.toFixed(2)}`);
    assert.deepEqual(low, []);
  });
}

for (const theme of ["light", "dark"]) {
  test(`every line of a chart on its ground, and no two of one colour, ${theme}`, () => {
    const token = tokens(theme);
    const colour = (name: string): string => token.get(name) ?? assert.fail(`${theme}.css has no --${name}`);
    const low = LINES.filter((line) => ["ground", "sheet"].some((ground) => ratio(colour(line), colour(ground)) < LINE_RATIO_MIN));
    assert.deepEqual(low, []);
    assert.equal(new Set(LINES.map(colour)).size, LINES.length);
  });
}
