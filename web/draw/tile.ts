// What the painter knows: rectangles with a colour, a text and an edge. Never what they stand for.
import type { Px } from "../model/units";
import type { Tint } from "../model/tint";

export interface Tile {
  readonly x: Px;
  readonly y: Px;
  readonly width: Px;
  readonly height: Px;
  readonly fill: Tint | "run";
  /** Already cut to fit; null: none. */
  readonly label: string | null;
  /** A quieter text behind the label; `x` is its own distance from the tile's edge. */
  readonly aside: { readonly text: string; readonly x: Px } | null;
  readonly edge: "none" | "dashed";
  readonly tone: "full" | "pale" | "dim";
  readonly mark: "none" | "selected" | "hovered";
}

/** The colours of a theme, read from its tokens by whoever owns the page. */
export type Palette = Readonly<Record<Tint | "run" | "ground" | "ink" | "quiet" | "accent" | "hatch", string>>;
