// Paints tiles on a canvas. Owns: colours, hatches, dashes, letters. Never: decides what is shown or where.
import { isWaiting } from "../model/tint";
import type { Px } from "../model/units";
import type { Palette, Tile } from "./tile";

const GAP_PX = 1;
export const TEXT_INSET_PX = 6;
const EDGED_PX_MIN = 6;
const PALE = 0.55;
const DIM = 0.28;
const HATCH_PX = 6;

export interface Canvas {
  readonly context: CanvasRenderingContext2D;
  readonly width: Px;
  readonly height: Px;
  readonly pixelRatio: number;
  /** A small canvas of its own for the hatch. */
  readonly scratch: (side: number) => CanvasRenderingContext2D | null;
}
export interface Ink {
  readonly palette: Palette;
  readonly font: string;
}

export function paint(canvas: Canvas, tiles: readonly Tile[], ink: Ink): void {
  const { context, pixelRatio } = canvas;
  const { palette } = ink;
  context.setTransform(pixelRatio, 0, 0, pixelRatio, 0, 0);
  context.fillStyle = palette.ground;
  context.fillRect(0, 0, canvas.width, canvas.height);
  const hatch = hatchPattern(canvas, palette);

  let fill: string | null = null;
  for (const tile of tiles) {
    const { left, width } = snapped(tile, pixelRatio);
    if (palette[tile.fill] !== fill) {
      fill = palette[tile.fill];
      context.fillStyle = fill;
    }
    context.globalAlpha = tile.tone === "dim" ? DIM : tile.tone === "pale" ? PALE : 1;
    context.fillRect(left, tile.y, width, tile.height - GAP_PX);
    if (isWaiting(tile.fill) && hatch !== null) {
      context.fillStyle = hatch;
      context.fillRect(left, tile.y, width, tile.height - GAP_PX);
      fill = null;
    }
  }
  context.globalAlpha = 1;
  paintEdges(canvas, tiles, palette);
  paintLabels(canvas, tiles, ink);
}

function paintEdges({ context, pixelRatio }: Canvas, tiles: readonly Tile[], palette: Palette): void {
  context.lineWidth = 1;
  context.strokeStyle = palette.quiet;
  context.setLineDash([3, 2]);
  for (const tile of tiles) {
    if (tile.edge !== "dashed" || tile.width < EDGED_PX_MIN) continue;
    context.globalAlpha = tile.tone === "dim" ? DIM : 1;
    const { left, width } = snapped(tile, pixelRatio);
    context.strokeRect(left + 0.5, tile.y + 0.5, width - 1, tile.height - GAP_PX - 1);
  }
  context.globalAlpha = 1;
  context.setLineDash([]);
  for (const tile of tiles) {
    if (tile.mark === "none") continue;
    const inset = tile.mark === "selected" ? 1 : 0.5;
    context.lineWidth = inset * 2;
    context.strokeStyle = tile.mark === "selected" ? palette.accent : palette.ink;
    const { left, width } = snapped(tile, pixelRatio);
    context.strokeRect(left + inset, tile.y + inset, Math.max(width - 2 * inset, 1), tile.height - GAP_PX - 2 * inset);
  }
}

function paintLabels({ context }: Canvas, tiles: readonly Tile[], { palette, font }: Ink): void {
  context.font = font;
  context.textBaseline = "middle";
  for (const tile of tiles) {
    if (tile.label === null) continue;
    const y = tile.y + (tile.height - GAP_PX) / 2 + 0.5;
    context.globalAlpha = tile.tone === "dim" ? 0.6 : 1;
    context.fillStyle = palette.ink;
    context.fillText(tile.label, tile.x + TEXT_INSET_PX, y);
    if (tile.aside === null) continue;
    context.fillStyle = palette.quiet;
    context.fillText(tile.aside.text, tile.x + tile.aside.x, y);
  }
  context.globalAlpha = 1;
}

/** On whole device pixels, so that edges are sharp. Boxes leave a pixel of ground between them; the narrowest keep one of colour. */
function snapped(tile: Tile, pixelRatio: number): { left: number; width: number } {
  const left = Math.round(tile.x * pixelRatio) / pixelRatio;
  const right = Math.round((tile.x + tile.width) * pixelRatio) / pixelRatio;
  return { left, width: Math.max(right - left - GAP_PX, Math.min(1, tile.width)) };
}

export function hatchPattern(canvas: Canvas, palette: Palette): CanvasPattern | null {
  const side = HATCH_PX * canvas.pixelRatio;
  const scratch = canvas.scratch(side);
  if (scratch === null) return null;
  scratch.clearRect(0, 0, side, side);
  scratch.strokeStyle = palette.hatch;
  scratch.lineWidth = canvas.pixelRatio;
  scratch.beginPath();
  for (const offset of [-side, 0, side]) {
    scratch.moveTo(offset - 1, side + 1);
    scratch.lineTo(offset + side + 1, -1);
  }
  scratch.stroke();
  const pattern = canvas.context.createPattern(scratch.canvas, "repeat");
  pattern?.setTransform(new DOMMatrix().scale(1 / canvas.pixelRatio));
  return pattern;
}
