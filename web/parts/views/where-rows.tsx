// "Where it goes": the user's own expressions, underlined in their source, each with its chain into C.
import type { JSX } from "preact";
import { markExpression } from "../../model/source";
import type { WhereRow } from "../../model/rows";
import { expressionKey } from "../../model/tree/tree";
import type { Weighed } from "../../model/units";
import { callersWords, exactWords, plural, shareWords, weightWords } from "../../model/words";
import type { PageState } from "../state/page-state";
import { Chain } from "../chain";

const FIRST_ROWS = 3;
const HOT_SHARE = 0.2;

export function Where({ state }: { state: PageState }): JSX.Element {
  const all = state.view.lists.where;
  const rows = state.rows.value;
  const folded = state.recording.folded[state.view.weight.value];
  if (rows.length === 0) {
    return (
      <section class="rows" aria-label="Where it goes">
        <p class="quiet">No line of your own code was seen in this weight. The call tree below shows what was.</p>
      </section>
    );
  }
  const shown = all.value ? rows : rows.slice(0, FIRST_ROWS);
  return (
    <section class="rows" aria-label="Where it goes">
      <ol>
        {shown.map((row) => (
          <li key={keyOf(row)}>
            <Hit state={state} row={row} />
          </li>
        ))}
      </ol>
      {rows.length > FIRST_ROWS ? (
        <button
          type="button"
          class="more"
          aria-expanded={all.value}
          onClick={() => {
            all.value = !all.value;
          }}
        >
          {all.value ? `Only the first ${FIRST_ROWS}` : plural(rows.length - shown.length + folded.rows, "more expression")}
        </button>
      ) : null}
      {all.value && folded.rows > 0 ? (
        <p class="quiet">
          {plural(folded.rows, "more expression")}, {shareWords(folded.share)} together: genba html --all-samples keeps each of them.
        </p>
      ) : null}
    </section>
  );
}

function Hit({ state, row }: { state: PageState; row: WhereRow }): JSX.Element {
  const { row: spot } = row;
  const weight = state.view.weight.value;
  const on = row.box !== null && state.filters.tree.value.place[row.box] === state.selection.whole.value.place[state.selection.selected.value];
  return (
    <button
      type="button"
      class={on ? "hit on" : "hit"}
      aria-current={on}
      data-hit
      onClick={() => {
        if (row.box !== null) state.showBox(row.box);
      }}
    >
      <span class={spot.share >= HOT_SHARE ? "pct hot" : "pct"} title={exactWords(spot[weight] as number as Weighed, weight)}>
        {shareWords(spot.share)}
        <small>{weightWords(row.weight, weight)}{weight === "samples" ? " samples" : ""}</small>
      </span>
      <span class="hit-text">
        {row.isFurther ? null : (
          <span class="where">
            <b>{spot.function ?? spot.phase ?? "no Python on the stack"}</b> {spot.fileName}
            {spot.line === null ? "" : `:${spot.line}`}
          </span>
        )}
        <SourceLine state={state} row={row} />
        <Chain row={row} />
        {spot.callers.length > 0 && !row.isFurther ? <span class="chain">{callersWords(spot.callers)}</span> : null}
      </span>
    </button>
  );
}

function SourceLine({ state, row }: { state: PageState; row: WhereRow }): JSX.Element {
  const { row: spot } = row;
  const marked = markExpression(state.recording.profile.sources, spot);
  if (marked !== null && row.isFurther) return <span class="src"><u>{marked.marked}</u></span>;
  if (marked === null) {
    return spot.expression === null ? <span class="quiet">{spot.file === null ? "" : "source not recorded"}</span> : <span class="src"><u>{spot.expression}</u></span>;
  }
  return (
    <span class="src">
      {marked.before}
      <u>{marked.marked}</u>
      {marked.after}
      {marked.moreLines > 0 ? <span class="quiet"> … {plural(marked.moreLines, "more line")}</span> : null}
    </span>
  );
}

function keyOf({ row }: WhereRow): string {
  return JSON.stringify([expressionKey(row), row.function]);
}
