// The tokens of the theme in force, read from the page's style for the canvas.
import type { Ink } from "../../draw/painter";
import { TINTS } from "../../model/tint";
import type { Palette } from "../../draw/tile";
import type { Px } from "../../model/units";
import type { Theme } from "../state/view";

export interface PageInk extends Ink {
  readonly rowHeight: Px;
  readonly character: Px;
}

/** The theme is an argument so that whoever reads the ink reads it again when the theme changes. */
export function readInk(theme: Theme): PageInk {
  document.documentElement.dataset["theme"] = theme;
  const style = getComputedStyle(document.documentElement);
  const token = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  const tints = Object.fromEntries(TINTS.map((tint) => [tint, token(tint)]));
  const palette = {
    ...tints,
    run: token("run"),
    ground: token("ground"),
    ink: token("ink"),
    quiet: token("box-quiet"),
    accent: token("accent"),
    hatch: token("hatch"),
  } as Palette;
  const font = token("label");
  return { palette, font, rowHeight: Number.parseFloat(token("row")) as Px, character: characterWidth(font) };
}

function characterWidth(font: string): Px {
  const context = document.createElement("canvas").getContext("2d");
  if (context === null) throw new Error("this browser has no canvas to draw on");
  context.font = font;
  return context.measureText("0").width as Px;
}

/** A small square to draw a pattern on. */
export function scratch(side: number): CanvasRenderingContext2D | null {
  const small = document.createElement("canvas");
  [small.width, small.height] = [side, side];
  return small.getContext("2d");
}
