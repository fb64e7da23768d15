// Paints a lane of time: in each column what was done stands from the bottom up, in parts of the column's height. Never: decides colours' meanings.
import { hatchPattern } from "./painter";
import type { Canvas, Ink } from "./painter";
import { isWaiting } from "../model/tint";
import type { Tint } from "../model/tint";

export interface LaneTiles {
  readonly columns: number;
  /** 0 to 1 of the column, by column and tint. */
  readonly parts: Float64Array;
  readonly tints: readonly Tint[];
}

export function paintLane(canvas: Canvas, { columns, parts, tints }: LaneTiles, { palette }: Ink): void {
  const { context, pixelRatio, width, height } = canvas;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, width * pixelRatio, height * pixelRatio);
  const [whole, tall] = [width * pixelRatio, height * pixelRatio];
  const hatch = hatchPattern(canvas, palette);
  hatch?.setTransform(new DOMMatrix());
  for (let column = 0; column < columns; column += 1) {
    const left = Math.round((column / columns) * whole);
    const wide = Math.max(1, Math.round(((column + 1) / columns) * whole) - left);
    let top = tall;
    tints.forEach((tint, at) => {
      const high = (parts[column * tints.length + at] ?? 0) * tall;
      if (high <= 0) return;
      top -= high;
      context.fillStyle = palette[tint];
      context.fillRect(left, top, wide, high);
      if (!isWaiting(tint) || hatch === null) return;
      context.fillStyle = hatch;
      context.fillRect(left, top, wide, high);
    });
  }
}
