// Why: everything about the selected box. Figures, what is below and above it, the source around it.
import type { JSX } from "preact";
import { countsCalls } from "../model/tables/totals";
import { callersOf } from "../model/tree/everywhere";
import { linesAround } from "../model/source";
import { parentOf, placeOf, share, siteOf, weightOf, ROOT } from "../model/tree/tree";
import type { Place } from "../model/tree/tree";
import type { BoxIndex, Share } from "../model/units";
import { fixed, placeNature, placeWhere, plural, shareWords } from "../model/words";
import { EditorLink } from "./editor-link";
import { Figures } from "./figures";
import type { PageState } from "./state/page-state";
import { orderOf } from "./state/view";

const BARS_MAX = 5;
const LINES_AROUND = 4;

export function Panel({ state }: { state: PageState }): JSX.Element {
  const box = state.selection.selected.value;
  const place = placeOf(state.selection.tree.value, box);
  return (
    <aside class={state.view.panelShown.value ? "panel shown" : "panel"} aria-label="Selected" data-panel>
      <button
        type="button"
        class="sheet-handle"
        aria-expanded={state.view.panelShown.value}
        onClick={() => {
          state.view.panelShown.value = !state.view.panelShown.value;
        }}
      >
        <span>{state.nameOf(box)}</span>
        <span class="quiet">{state.view.panelShown.value ? "Close" : "Details"}</span>
      </button>
      <div>
        <h2>{state.nameOf(box)}</h2>
        <p class="quiet">
          <Site state={state} box={box} />
          {placeNature(place)}
        </p>
      </div>
      {"frame" in place ? <EditorLink frame={place.frame} /> : null}
      <Fold state={state} box={box} />
      <Figures state={state} box={box} />
      <Below state={state} box={box} />
      <Above state={state} box={box} />
      <Peek state={state} box={box} />
    </aside>
  );
}

/** Opens and folds a box of several interpreter calls. */
function Fold({ state, box }: { state: PageState; box: BoxIndex }): JSX.Element | null {
  const fold = state.selection.foldOf(box);
  if (fold === "none") return null;
  return (
    <button
      type="button"
      class="plain"
      data-fold
      aria-expanded={fold === "open"}
      onClick={() => {
        state.selection.turnFold(box);
      }}
    >
      {fold === "closed" ? "Show each frame" : "Fold the interpreter's frames"}
    </button>
  );
}

function Site({ state, box }: { state: PageState; box: BoxIndex }): JSX.Element | null {
  const tree = state.selection.tree.value;
  const place = placeOf(tree, box);
  if (orderOf(state.view) === "inverted") {
    // Above it stands what it called.
    const where = placeWhere(place);
    return where === "" ? null : <><code>{where}</code> · </>;
  }
  if (place.kind === "expression") {
    return <><code>{placeWhere(place)}</code> in <code>{state.nameOf(parentOf(tree, box))}</code> · </>;
  }
  const site = siteOf(tree, box);
  const where = placeWhere(place);
  return (
    <>
      {where === "" ? null : <><code>{where}</code> · </>}
      {site === null ? null : <>called at <code>{placeWhere(placeOf(tree, site))}</code> in <code>{state.nameOf(parentOf(tree, site))}</code> · </>}
    </>
  );
}

interface Bar {
  readonly box: BoxIndex;
  readonly name: string;
  readonly share: Share;
  readonly pick: () => void;
}
function Bars({ title, bars }: { title: string; bars: readonly Bar[] }): JSX.Element | null {
  if (bars.length === 0) return null;
  const more = bars.length - BARS_MAX;
  return (
    <section>
      <h3>{title}</h3>
      {bars.slice(0, BARS_MAX).map((bar) => (
        <button
          type="button"
          key={bar.box}
          class="bar"
          style={{ "--share": `${bar.share * 100}%` }}
          onClick={bar.pick}
        >
          <span>{bar.name}</span>
          <span>{shareWords(bar.share)}</span>
        </button>
      ))}
      {more > 0 ? <p class="quiet">and {plural(more, "smaller one")}</p> : null}
    </section>
  );
}

/** Shares of this box. */
function Below({ state, box }: { state: PageState; box: BoxIndex }): JSX.Element | null {
  const weight = state.view.weight.value;
  const tree = state.selection.tree.value;
  const whole = weightOf(tree.total, box, weight);
  const bars = tree.childrenOf(box, weight).map((child) => ({
    box: child,
    name: state.nameOf(child),
    share: share(weightOf(tree.total, child, weight), whole),
    pick: () => {
      state.selection.select(child);
    },
  }));
  return <Bars title={orderOf(state.view) === "inverted" && box !== ROOT ? "Called by" : "Below"} bars={bars} />;
}

/** Shares of what this place weighs everywhere; of counted calls, of its own alone. */
function Above({ state, box }: { state: PageState; box: BoxIndex }): JSX.Element | null {
  if (box === ROOT) return null;
  const everywhere = state.everywhere(box);
  const weight = state.view.weight.value;
  const isCounted = countsCalls(state.recording.profile);
  const whole = (isCounted ? everywhere.self : everywhere.total)[weight];
  const bars = callersOf(everywhere.tree, everywhere, weight, isCounted).map((caller) => ({
    box: caller.box,
    name: state.nameOf(caller.box, everywhere.tree),
    share: share(caller.weight, whole),
    pick: () => {
      if (everywhere.tree === state.filters.tree.value) state.selection.showCall(caller.box);
      else state.selection.select(caller.box);
    },
  }));
  return <Bars title="Above, everywhere" bars={bars} />;
}

function Peek({ state, box }: { state: PageState; box: BoxIndex }): JSX.Element | null {
  const spot = spotOf(placeOf(state.selection.tree.value, box)) ?? siteSpot(state, box);
  if (spot === null) return null;
  const lines = linesAround(state.recording.profile, state.lineShares.value, { ...spot, around: LINES_AROUND });
  if (lines.length === 0) return null;
  return (
    <section>
      <h3>Source</h3>
      <div class="peek">
        {lines.map((line) => (
          <div key={line.line} class={line.line === spot.line ? "on" : undefined}>
            <span>{line.line}</span>
            <span>{line.share === null ? "" : fixed(line.share * 100, 1)}</span>
            <span>{line.text}</span>
          </div>
        ))}
      </div>
      <p class="quiet">% of the whole run with that line on the stack</p>
    </section>
  );
}

function siteSpot(state: PageState, box: BoxIndex): { file: string; line: number } | null {
  const site = orderOf(state.view) === "inverted" ? null : siteOf(state.selection.tree.value, box);
  return site === null ? null : spotOf(placeOf(state.selection.tree.value, site));
}
function spotOf(place: Place): { file: string; line: number } | null {
  if (place.kind !== "expression" && place.kind !== "function") return null;
  const { file, firstLine, line } = place.frame;
  const at = place.kind === "expression" ? line : firstLine;
  return file === null || at === null ? null : { file, line: at };
}
