// The graph of a kind of cycles: its classes as boxes, its references as arrows, the one to drop in another colour and style, and the same as a
// list. It is laid out when it comes near the screen.
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { drawingOf, LINE } from "../model/cycles/drawing";
import type { Lines, Measure } from "../model/cycles/drawing";
import type { Graph } from "../model/cycles/kinds";
import { shown } from "../model/words";

const LINE_CHARACTERS_MAX = 400;
const NEAR = "800px";

export function CycleGraph({ graph, measure }: { graph: Graph; measure: Measure }): JSX.Element {
  const place = useRef<HTMLElement>(null);
  const isNear = useSignal(false);
  const lines = graph.arrows.map(({ line, count, isDropped }) => `${shown(line, LINE_CHARACTERS_MAX)} × ${count}${isDropped ? ", to drop" : ""}`);
  useEffect(() => {
    const figure = place.current;
    if (figure === null) return;
    const watch = new IntersectionObserver((seen) => {
      if (!seen.some(({ isIntersecting }) => isIntersecting)) return;
      isNear.value = true;
      watch.disconnect();
    }, { root: figure.closest("main.alone"), rootMargin: NEAR });
    watch.observe(figure);
    return () => {
      watch.disconnect();
    };
  }, [isNear]);
  return (
    <>
      <figure class="cycle" ref={place} tabIndex={0} role="group" aria-label="Classes and references">
        {isNear.value ? <Drawn graph={graph} measure={measure} /> : null}
      </figure>
      <details>
        <summary>References as a list</summary>
        <ul>{lines.map((line, arrow) => <li key={arrow}><bdi>{line}</bdi></li>)}</ul>
      </details>
    </>
  );
}

function Drawn({ graph, measure }: { graph: Graph; measure: Measure }): JSX.Element {
  const { width, height, boxes, arrows } = useMemo(() => drawingOf(graph, measure), [graph, measure]);
  return (
    <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label="The same as the list below">
      {arrows.map(({ path, head, isDropped }, arrow) => (
        <g key={arrow} class={isDropped ? "arrow dropped" : "arrow"}>
          <path class="line" d={path} />
          <path class="head" d={head} />
        </g>
      ))}
      {arrows.map((curve, arrow) => (
        <g key={arrow} class={curve.isDropped ? "beside dropped" : "beside"}>
          <title>{shown(graph.arrows[arrow]?.line ?? "", LINE_CHARACTERS_MAX)}</title>
          <rect x={curve.x - curve.width / 2} y={curve.y - curve.height / 2} width={curve.width} height={curve.height} />
          <Words lines={curve} />
        </g>
      ))}
      {boxes.map((box, place) => (
        <g key={place} class="class">
          <title>{shown(graph.boxes[place]?.name ?? "", LINE_CHARACTERS_MAX)}</title>
          <rect x={box.x - box.width / 2} y={box.y - box.height / 2} width={box.width} height={box.height} rx={4} />
          <Words lines={box} />
        </g>
      ))}
    </svg>
  );
}

function Words({ lines: { lines, x, y } }: { lines: Lines }): JSX.Element {
  const top = y - ((lines.length - 1) * LINE) / 2;
  return (
    <>
      {lines.map((line, place) => <text key={place} class={place === 0 ? "first" : ""} x={x} y={top + place * LINE}>{line}</text>)}
    </>
  );
}
