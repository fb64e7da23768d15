// What the pointer is over, beside the pointer.
import type { JSX } from "preact";
import type { Run } from "../model/tree/layout";
import { placeOf, share, weightOf, ROOT } from "../model/tree/tree";
import type { BoxIndex, Count } from "../model/units";
import { countWords, placeNature, placeWhere, plural, shareWords } from "../model/words";
import { Figures } from "./figures";
import type { PageState } from "./state/page-state";

export function Tip({ state }: { state: PageState }): JSX.Element | null {
  const hover = state.selection.hover.value;
  if (hover === null) return null;
  const side = hover.x > window.innerWidth / 2 ? "left" : "right";
  const height = hover.y > window.innerHeight / 2 ? "above" : "below";
  return (
    <div class={`tip tip-${side} tip-${height}`} aria-hidden="true" style={{ left: `${hover.x}px`, top: `${hover.y}px` }}>
      {hover.shows.kind === "run" ? <RunTip state={state} run={hover.shows} /> : <BoxTip state={state} box={hover.shows.box} />}
    </div>
  );
}

function BoxTip({ state, box }: { state: PageState; box: BoxIndex }): JSX.Element {
  const place = placeOf(state.selection.tree.value, box);
  return (
    <>
      <div class="tip-name">{state.nameOf(box)}</div>
      <div class="where">{placeWhere(place)}</div>
      <div class="quiet">{placeNature(place)}</div>
      <Figures state={state} box={box} />
    </>
  );
}

const NAMED_MAX = 3;
function RunTip({ state, run }: { state: PageState; run: Run }): JSX.Element {
  const tree = state.selection.tree.value;
  const weight = state.view.weight.value;
  const named = run.children.slice(0, NAMED_MAX).map((box) => state.nameOf(box));
  const more = run.children.length - named.length;
  return (
    <>
      <div class="tip-name">{plural(run.children.length, "box", "boxes")} too narrow to draw</div>
      <div class="quiet">
        {shareWords(share(run.weight, weightOf(tree.total, ROOT, weight)))} together, {countWords(run.boxes)} with all below; under {state.nameOf(run.parent)}
      </div>
      <div class="where">
        {named.join(", ")}
        {more > 0 ? ` and ${countWords(more as Count)} more` : ""}
      </div>
      <div class="quiet">Click to zoom in.</div>
    </>
  );
}
