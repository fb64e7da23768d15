// From slots (what stands where) to tiles (what is painted): names, colours, marks. Only the rows in sight.
import { TEXT_INSET_PX } from "../draw/painter";
import type { Tile } from "../draw/tile";
import { drawnWidth } from "../model/layout";
import type { Layout, Slot } from "../model/layout";
import { isInferred, tintOf } from "../model/tint";
import { placeOf, shareOf } from "../model/tree";
import type { BoxIndex, Px } from "../model/units";
import { cells, fitted, shareWords } from "../model/words";
import type { PageState } from "./page-state";

/** A stretch and shift of the picture while a zoom is under way; at rest 1 and 0. */
export interface View {
  readonly scale: number;
  readonly shift: Px;
  readonly top: Px;
  readonly height: Px;
  readonly rowHeight: Px;
  readonly character: Px;
}

export function tilesOf(state: PageState, layout: Layout, view: View): Tile[] {
  const { rowHeight } = view;
  const first = Math.max(0, Math.floor(view.top / rowHeight));
  const last = Math.min(layout.rows.length - 1, Math.ceil((view.top + view.height) / rowHeight));
  const tiles: Tile[] = [];
  for (let depth = first; depth <= last; depth += 1) {
    for (const slot of layout.rows[depth] ?? []) tiles.push(tileOf(state, slot, depth, view));
  }
  return tiles;
}

function tileOf(state: PageState, slot: Slot, depth: number, view: View): Tile {
  const x = (slot.x * view.scale + view.shift) as Px;
  const y = (depth * view.rowHeight - view.top) as Px;
  const width = (drawnWidth(slot) * view.scale) as Px;
  const common = { x, y, width, height: view.rowHeight };
  const hovered = state.selection.hovered.value;
  if (slot.shows.kind === "run") {
    const under = hovered?.kind === "run" && hovered.parent === slot.shows.parent;
    const tone = state.found.value !== null && !runMatches(state, slot.shows.children) ? "dim" : "full";
    return { ...common, fill: "run", label: null, aside: null, edge: "none", tone, mark: under ? "hovered" : "none" };
  }
  const { box } = slot.shows;
  const place = placeOf(state.selection.tree.value, box);
  const room = (width - 2 * TEXT_INSET_PX) as Px;
  const name = room < 3 * view.character ? null : state.nameOf(box);
  const label = name === null ? null : fitted(name, room, view.character);
  const share = shareWords(shareOf(state.selection.tree.value, box, state.view.weight.value));
  const asideAt = label === null ? 0 : (cells(label) + 2) * view.character;
  const asideFits = label !== null && label === name && asideAt + cells(share) * view.character <= room;
  const dim = state.found.value !== null && !matches(state, box);
  return {
    ...common,
    fill: tintOf(place),
    label,
    aside: asideFits ? { text: share, x: (TEXT_INSET_PX + asideAt) as Px } : null,
    edge: isInferred(place) ? "dashed" : "none",
    tone: dim ? "dim" : isInferred(place) ? "pale" : "full",
    mark: state.selection.selected.value === box ? "selected" : hovered?.kind === "box" && hovered.box === box ? "hovered" : "none",
  };
}

function runMatches(state: PageState, children: readonly BoxIndex[]): boolean {
  return children.some((box) => matches(state, box));
}

/** A box of several calls matches if one of the calls does. */
function matches(state: PageState, box: BoxIndex): boolean {
  const calls = state.selection.tree.value.runOf.get(box) ?? [box];
  return calls.some((call) => state.found.value?.matches[call] === 1);
}
