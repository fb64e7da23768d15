// From slots (what stands where) to tiles (what is painted): names, colours, marks. Only the rows in sight.
import { TEXT_INSET_PX } from "../../draw/painter";
import type { Tile } from "../../draw/tile";
import { drawnWidth } from "../../model/tree/layout";
import type { Layout, Slot } from "../../model/tree/layout";
import { isInferred, tintOf } from "../../model/tint";
import { placeOf, shareOf } from "../../model/tree/tree";
import type { BoxIndex, Px } from "../../model/units";
import { cells, fitted, shareWords } from "../../model/words";
import type { Picture } from "./picture";

/** A stretch and shift of the picture while a zoom is under way; at rest 1 and 0. */
export interface View {
  readonly scale: number;
  readonly shift: Px;
  /** Negative: so much room is above the first row. */
  readonly top: Px;
  readonly height: Px;
  readonly rowHeight: Px;
  readonly character: Px;
}

export function tilesOf(picture: Picture, layout: Layout, view: View): Tile[] {
  const { rowHeight } = view;
  const rows = layout.rows.length;
  const first = Math.max(0, Math.floor(view.top / rowHeight));
  const last = Math.min(rows - 1, Math.ceil((view.top + view.height) / rowHeight));
  const tiles: Tile[] = [];
  for (let row = first; row <= last; row += 1) {
    for (const slot of layout.rows[depthOf(picture, row, rows)] ?? []) tiles.push(tileOf(picture, slot, row, view));
  }
  return tiles;
}

/** Which depth stands in a row of the picture, and the other way round. */
export function depthOf(picture: Picture, row: number, rows: number): number {
  return picture.upwards ? rows - 1 - row : row;
}

function tileOf(picture: Picture, slot: Slot, row: number, view: View): Tile {
  const x = (slot.x * view.scale + view.shift) as Px;
  const y = (row * view.rowHeight - view.top) as Px;
  const width = (drawnWidth(slot) * view.scale) as Px;
  const common = { x, y, width, height: view.rowHeight };
  const hovered = picture.hovered.value;
  if (slot.shows.kind === "run") {
    const under = hovered?.kind === "run" && hovered.parent === slot.shows.parent;
    const tone = picture.found.value !== null && !runMatches(picture, slot.shows.children) ? "dim" : "full";
    return { ...common, fill: "run", label: null, aside: null, edge: "none", tone, mark: under ? "hovered" : "none" };
  }
  const { box } = slot.shows;
  const place = placeOf(picture.tree.value, box);
  const room = (width - 2 * TEXT_INSET_PX) as Px;
  const name = room < 3 * view.character ? null : picture.nameOf(box);
  const label = name === null ? null : fitted(name, room, view.character);
  const share = shareWords(shareOf(picture.tree.value, box, picture.weight.value));
  const asideAt = label === null ? 0 : (cells(label) + 2) * view.character;
  const asideFits = label !== null && label === name && asideAt + cells(share) * view.character <= room;
  const dim = picture.found.value !== null && !matches(picture, box);
  return {
    ...common,
    fill: tintOf(place),
    label,
    aside: asideFits ? { text: share, x: (TEXT_INSET_PX + asideAt) as Px } : null,
    edge: isInferred(place) ? "dashed" : "none",
    tone: dim ? "dim" : isInferred(place) ? "pale" : "full",
    mark: picture.selected.value === box ? "selected" : hovered?.kind === "box" && hovered.box === box ? "hovered" : "none",
  };
}

function runMatches(picture: Picture, children: readonly BoxIndex[]): boolean {
  return children.some((box) => matches(picture, box));
}

/** A box of several calls matches if one of the calls does. */
function matches(picture: Picture, box: BoxIndex): boolean {
  const calls = picture.tree.value.runOf.get(box) ?? [box];
  return calls.some((call) => picture.found.value?.matches[call] === 1);
}
