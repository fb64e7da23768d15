// A thread's time as a picture. The words of the row beside it say the same in numbers.
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { paintLane } from "../../draw/lanes";
import { TINTS } from "../../model/tint";
import type { Lane, Lanes } from "../../model/time/time-line";
import type { Px } from "../../model/units";
import { readInk, scratch } from "../icicle/ink";
import type { PageState } from "../state/page-state";

export function LanePicture({ state, lanes, lane }: { state: PageState; lanes: Lanes; lane: Lane }): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = state.view.theme.value;
  useLayoutEffect(() => {
    const element = canvas.current;
    if (element === null) return undefined;
    const ink = readInk(theme);
    const draw = (): void => {
      const context = element.getContext("2d");
      const [width, height] = [element.clientWidth as Px, element.clientHeight as Px];
      if (context === null || width === 0) return;
      const pixelRatio = window.devicePixelRatio;
      [element.width, element.height] = [Math.round(width * pixelRatio), Math.round(height * pixelRatio)];
      const parts = lane.walls.map((wall) => Math.min(1, wall / lanes.columnLength));
      paintLane({ context, width, height, pixelRatio, scratch }, { columns: lanes.columns, parts, tints: TINTS }, ink);
    };
    draw();
    const observer = new ResizeObserver(draw);
    observer.observe(element);
    return () => {
      observer.disconnect();
    };
  }, [theme, lanes, lane]);
  return <canvas ref={canvas} class="lane" aria-hidden="true" />;
}
