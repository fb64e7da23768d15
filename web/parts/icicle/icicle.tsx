// A tree as an icicle: a canvas for the eyes, a tree of spoken items for everybody else, one focus for both.
import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { paint } from "../../draw/painter";
import { layOut, slotAt, slotOf } from "../../model/tree/layout";
import type { Layout, Slot } from "../../model/tree/layout";
import { ROOT, weightOf } from "../../model/tree/tree";
import type { BoxIndex, Px } from "../../model/units";
import { WEIGHT_WORDS } from "../../model/words";
import { readInk, scratch } from "./ink";
import type { PageInk } from "./ink";
import type { Picture } from "./picture";
import { SpokenTree, spokenId } from "./spoken-tree";
import { depthOf, tilesOf } from "./tiles";

const ZOOM_MS = 120;
const MARGIN_PX = 16;

export function Icicle({ picture, onPainted }: { picture: Picture; onPainted?: () => void }): JSX.Element {
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = useSignal({ width: 0 as Px, height: 0 as Px });
  const top = useSignal(0 as Px);
  const layout = useComputed(() => layOut(picture.tree.value, { zoom: picture.zoom.value, weight: picture.weight.value, width: size.value.width }));
  const shown = useRef<{ layout: Layout; zoomFrame: number } | null>(null);
  const ink = useComputed(() => readInk(picture.theme.value));

  /** Above a root that stands at the bottom. */
  const headroom = useComputed(() => (picture.upwards ? Math.max(0, size.value.height - layout.value.rows.length * ink.value.rowHeight) : 0) as Px);

  // The first picture does not wait for an observer: observers report with a frame, and a hidden page gets no frames.
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return undefined;
    const measure = (): void => {
      const [width, height] = [Math.max(0, element.clientWidth - 2 * MARGIN_PX) as Px, element.clientHeight as Px];
      if (width !== size.peek().width || height !== size.peek().height) size.value = { width, height };
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => {
      observer.disconnect();
    };
  }, [size]);

  // The root is where the reader begins.
  const tall = layout.value.rows.length;
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element !== null && picture.upwards) element.scrollTop = element.scrollHeight;
  }, [picture.upwards, tall]);

  useSignalEffect(() => {
    const now = layout.value;
    const draw = (scale: number, shift: Px): void => {
      drawOn(canvas.current, { picture, layout: now, ink: ink.value, width: size.value.width, height: size.value.height, top: (top.value - headroom.value) as Px, scale, shift });
      if (size.value.height > 0) onPainted?.();
    };
    const before = shown.current;
    const motion = before === null || before.layout.zoom === now.zoom ? null : motionBetween(picture, before.layout, now);
    if (before !== null && before.layout !== now) cancelAnimationFrame(before.zoomFrame);
    if (before?.layout === now) {
      draw(1, 0 as Px);
      return;
    }
    shown.current = { layout: now, zoomFrame: 0 };
    if (motion === null || matchMedia("(prefers-reduced-motion: reduce)").matches) {
      draw(1, 0 as Px);
      return;
    }
    draw(motion.scale, motion.shift);
    const start = performance.now();
    const step = (time: number): void => {
      if (shown.current?.layout !== now) return;
      const part = Math.min(1, Math.max(0, (time - start) / ZOOM_MS));
      const eased = 1 - (1 - part) ** 3;
      draw(motion.scale + (1 - motion.scale) * eased, (motion.shift * (1 - eased)) as Px);
      if (part < 1) shown.current = { layout: now, zoomFrame: requestAnimationFrame(step) };
    };
    shown.current = { layout: now, zoomFrame: requestAnimationFrame(step) };
  });

  // What is selected stays in sight.
  useSignalEffect(() => {
    const element = scroller.current;
    if (element === null || picture.upwards) return;
    const depth = picture.tree.value.depth[picture.selected.value] ?? 0;
    const y = depthOf(picture, depth, layout.value.rows.length) * ink.value.rowHeight;
    const room = size.value.height - 3 * ink.value.rowHeight;
    if (y < element.scrollTop || y > element.scrollTop + room) element.scrollTop = Math.max(0, y - room / 2);
  });

  const slotUnder = (event: MouseEvent): Slot | null => {
    const box = canvas.current?.getBoundingClientRect();
    if (box === undefined) return null;
    const row = Math.floor((event.clientY - box.top + top.value - headroom.value) / ink.value.rowHeight);
    const depth = depthOf(picture, row, layout.value.rows.length);
    // A pointer stands on whole pixels and means the middle of one.
    return slotAt(layout.value, { depth, x: (event.clientX + 0.5 - box.left - MARGIN_PX) as Px });
  };
  const empty = weightOf(picture.tree.value.total, ROOT, picture.weight.value) === 0;
  return (
    <section class="flame" aria-label={picture.label}>
      <div
        ref={scroller}
        class="flame-scroll"
        role="tree"
        tabIndex={0}
        data-flame
        aria-label={`${picture.label} by ${WEIGHT_WORDS[picture.weight.value]}. Arrows move, Enter zooms, Backspace goes up.`}
        aria-activedescendant={spokenId(picture, picture.selected.value)}
        onScroll={(event) => {
          top.value = event.currentTarget.scrollTop as Px;
        }}
        onMouseMove={(event) => {
          const slot = slotUnder(event);
          picture.hover.value = slot === null ? null : { shows: slot.shows, x: event.clientX as Px, y: event.clientY as Px };
        }}
        onMouseLeave={() => {
          picture.hover.value = null;
        }}
        onClick={(event) => {
          const slot = slotUnder(event);
          if (slot !== null) picture.pick(target(slot, picture.zoom.value));
        }}
      >
        <canvas ref={canvas} aria-hidden="true" />
        <div class="flame-tall" style={{ height: `${layout.value.rows.length * ink.value.rowHeight}px` }} />
        <SpokenTree picture={picture} />
      </div>
      {empty ? <p class="empty">{picture.whyEmpty()}</p> : null}
    </section>
  );
}

/** A run stands for boxes of its parent; zoomed to the parent already, its heaviest is the way in. */
function target(slot: Slot, zoom: BoxIndex): BoxIndex {
  if (slot.shows.kind === "box") return slot.shows.box;
  return slot.shows.parent === zoom ? (slot.shows.children[0] ?? zoom) : slot.shows.parent;
}

/** How the new picture has to be stretched so that it begins where the old one stood. */
function motionBetween(picture: Picture, before: Layout, after: Layout): { scale: number; shift: Px } | null {
  const inward = slotOf(before, picture.tree.value, after.zoom);
  if (inward !== null && inward.width < before.width) return { scale: inward.width / after.width, shift: inward.x };
  const outward = slotOf(after, picture.tree.value, before.zoom);
  if (outward === null || outward.width <= 0) return null;
  const scale = after.width / outward.width;
  return { scale, shift: (0 - outward.x * scale) as Px };
}

interface Drawing {
  readonly picture: Picture;
  readonly layout: Layout;
  readonly ink: PageInk;
  readonly width: Px;
  readonly height: Px;
  readonly top: Px;
  readonly scale: number;
  readonly shift: Px;
}
function drawOn(canvas: HTMLCanvasElement | null, drawing: Drawing): void {
  const context = canvas?.getContext("2d") ?? null;
  if (canvas === null || context === null || drawing.height <= 0) return;
  const { picture, layout, ink, height, top } = drawing;
  const pixelRatio = window.devicePixelRatio;
  const width = (drawing.width + 2 * MARGIN_PX) as Px;
  const [deviceWidth, deviceHeight] = [Math.round(width * pixelRatio), Math.round(height * pixelRatio)];
  if (canvas.width !== deviceWidth) canvas.width = deviceWidth;
  if (canvas.height !== deviceHeight) canvas.height = deviceHeight;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  canvas.style.marginBottom = `-${height}px`;
  const shift = (drawing.shift + MARGIN_PX) as Px;
  const view = { scale: drawing.scale, shift, top, height, rowHeight: ink.rowHeight, character: ink.character };
  paint({ context, width, height, pixelRatio, scratch }, tilesOf(picture, layout, view), ink);
}
