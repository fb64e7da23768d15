// Where the classes and the references of a graph stand: layers from left to right, as dagre sets them. Sizes and places in pixels.
import { graphlib, layout } from "@dagrejs/dagre";
import { visible } from "../words";
import type { Graph } from "./kinds";

/** How wide a text is. */
export type Measure = (text: string) => number;

export interface Lines {
  /** One below the other; the first is its name. */
  readonly lines: readonly string[];
  /** Of its middle. */
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Curve extends Lines {
  /** SVG paths: the line, and its head at the end. */
  readonly path: string;
  readonly head: string;
  readonly isDropped: boolean;
}

export interface Drawing {
  readonly width: number;
  readonly height: number;
  readonly boxes: readonly Lines[];
  readonly arrows: readonly Curve[];
}

interface Point {
  readonly x: number;
  readonly y: number;
}

/** From one line of a text to the next. */
export const LINE = 16;
const NAME_CHARACTERS_MAX = 40;
/** Between the ends of several arrows from a class to itself. */
const APART = 10;
const PADDING = 8;
/** How long a head is, and how wide on either side of the line. */
const [HEAD, HEAD_HALF] = [8, 4];
const [BETWEEN_LAYERS, BETWEEN_BOXES, BETWEEN_ARROWS, AROUND] = [40, 24, 12, 4];

/** The reference to drop leads back to the left, against all others, where there is one. */
export function drawingOf({ boxes, arrows }: Graph, measure: Measure): Drawing {
  const layers = new graphlib.Graph({ directed: true, multigraph: true });
  layers.setGraph({ rankdir: "LR", ranksep: BETWEEN_LAYERS, nodesep: BETWEEN_BOXES, edgesep: BETWEEN_ARROWS, marginx: AROUND, marginy: AROUND });
  const size = (lines: readonly string[], padding: number): { width: number; height: number } => ({
    width: Math.max(0, ...lines.map(measure)) + 2 * padding,
    height: lines.length * LINE + padding,
  });
  const boxLines = boxes.map(({ name, objects }) => [cut(name), ...(objects === null ? [] : [objects])]);
  const arrowLines = arrows.map(({ name, count }) => [...(name === "" ? [] : [cut(name)]), `× ${count}`]);
  // dagre turns around the arrows that lead to a box which it has begun with.
  const begun = arrows.filter(({ isDropped }) => isDropped).map(({ to }) => to);
  for (const box of new Set([...begun, ...boxes.keys()])) layers.setNode(nameOf(box), size(boxLines[box] ?? [], PADDING));
  for (const [place, { from, to }] of arrows.entries()) {
    layers.setEdge(nameOf(from), nameOf(to), { ...size(arrowLines[place] ?? [], 2), labelpos: "c" }, String(place));
  }
  layout(layers);
  const { width = 0, height = 0 } = layers.graph() as { width?: number; height?: number };
  return {
    width,
    height,
    boxes: boxLines.map((lines, box) => ({ lines, ...(layers.node(nameOf(box)) as Placed) })),
    arrows: arrows.map(({ from, to, isDropped }, place) => {
      const placed = layers.edge(nameOf(from), nameOf(to), String(place)) as Placed & { points: readonly Point[] };
      const { x, y, width, height } = placed;
      const earlier = arrows.slice(0, place).filter((arrow) => arrow.from === from && arrow.to === from).length;
      const points = from === to ? aroundTo(layers.node(nameOf(to)) as Placed, placed, earlier * APART) : placed.points;
      return { lines: arrowLines[place] ?? [], x, y, width, height, path: pathAlong(points), head: headAt(points), isDropped };
    }),
  };
}

/** The command has cut long ones already: how many letters are missing here nobody knows. */
function cut(name: string): string {
  const letters = Array.from(visible(name));
  return letters.length > NAME_CHARACTERS_MAX ? `${letters.slice(0, NAME_CHARACTERS_MAX).join("")}…` : letters.join("");
}

/** With a letter in front: dagre takes whole numbers in the order of their size. */
function nameOf(box: number): string {
  return `box ${box}`;
}

interface Placed extends Point {
  readonly width: number;
  readonly height: number;
}

/** From a box through the words below it and back: dagre leaves room for them, and draws such an arrow from top to bottom only. */
function aroundTo(box: Placed, words: Placed, inside: number): Point[] {
  const [half, bottom, side] = [words.width / 2, box.y + box.height / 2, Math.max(PADDING, box.width / 2 - PADDING - inside)];
  return [{ x: box.x - side, y: bottom }, { x: words.x - half, y: words.y }, { x: words.x + half, y: words.y }, { x: box.x + side, y: bottom }];
}

function at({ x, y }: Point): string {
  return `${x.toFixed(1)} ${y.toFixed(1)}`;
}

/** A curve from the first point to the last one, which the points between bend. */
function pathAlong(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (first === undefined) return "";
  const bends = rest.slice(0, -1).map((point, place) => {
    const next = rest[place + 1] ?? point;
    const isLast = place === rest.length - 2;
    return `Q${at(point)} ${at(isLast ? next : { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 })}`;
  });
  return `M${at(first)}${bends.join("") || rest.map((point) => `L${at(point)}`).join("")}`;
}

/** A triangle at the last point, in the direction from the point before. */
function headAt(points: readonly Point[]): string {
  const [before, tip] = points.slice(-2);
  if (before === undefined || tip === undefined) return "";
  const length = Math.hypot(tip.x - before.x, tip.y - before.y) || 1;
  const [along, across] = [(tip.x - before.x) / length, (tip.y - before.y) / length];
  const corner = (side: number): string => at({ x: tip.x - along * HEAD - across * side, y: tip.y - across * HEAD + along * side });
  return `M${at(tip)}L${corner(HEAD_HALF)}L${corner(-HEAD_HALF)}Z`;
}
