// The list page: search, chips and rows at the left, the selected recording's panel at the right.
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Recording } from "../../model/server/recordings";
import { Footer } from "../frame/footer";
import { Header } from "../frame/header";
import { KeysDialog, siteBindings, useKeys } from "../frame/keys";
import type { Binding } from "../frame/keys";
import { Panel } from "../panel/panel";
import { createListState } from "../state/list-state";
import type { ListState } from "../state/list-state";
import type { Site } from "../state/site";
import { compareAddress, CompareBar } from "./compare-bar";
import { NoMatch, NoRecordings } from "./empty";
import { keepLive } from "./live";
import { Rows } from "./rows";
import { Chips, Search } from "./search";

export function ListPage({ site }: { site: Site }): JSX.Element {
  const state = useMemo(() => createListState(site), [site]);
  const input = useRef<HTMLInputElement>(null);
  const grid = useRef<HTMLDivElement>(null);
  useEffect(() => keepLive(state), [state]);
  const bindings = useMemo(() => listBindings(state, () => input.current, () => grid.current), [state]);
  useKeys(bindings, site);
  const rows = state.rows.value;
  const isEmpty = rows !== null && site.counts.value?.all === 0 && state.asked.value.query === "";
  const selected = rows?.find(({ id }) => id === state.selected.value) ?? null;
  useEffect(() => {
    if (rows !== null) document.documentElement.dataset["painted"] = "true";
  }, [rows]);
  return (
    <>
      <Header site={site} page="/" />
      {isEmpty ? <main class="one"><NoRecordings state={state} /></main> : (
        <main class="listed">
          <div class="stage">
            <h1 class="spoken">Recordings</h1>
            <Search state={state} input={input} onDown={() => { move(state, grid.current, 0); }} />
            <Chips state={state} />
            {rows?.length === 0 && state.next.value === null ? <NoMatch state={state} /> : <Rows state={state} grid={grid} />}
            <CompareBar state={state} />
          </div>
          <Panel state={state} recording={selected} />
        </main>
      )}
      <Footer site={site}>
        {isEmpty ? null : <><kbd>↑</kbd> <kbd>↓</kbd> move · <kbd>Enter</kbd> open · <kbd>Space</kbd> choose · <kbd>c</kbd> compare · </>}
      </Footer>
      <KeysDialog site={site} bindings={bindings} />
    </>
  );
}

function listBindings(state: ListState, input: () => HTMLInputElement | null, grid: () => HTMLElement | null): readonly Binding[] {
  const selected = (): Recording | null => state.rows.value?.find(({ id }) => id === state.selected.value) ?? null;
  const press = (shown: string, does: string, run: Binding["run"], keys: readonly string[] = [shown]): Binding => ({ keys, shown, does, run });
  return [
    press("/", "search", () => {
      input()?.focus();
      input()?.select();
      return true;
    }),
    press("↑ ↓", "the recording above, below", () => false, []),
    press("↑", "", () => move(state, grid(), -1), ["ArrowUp"]),
    press("↓", "", () => move(state, grid(), 1), ["ArrowDown"]),
    press("Home, End", "the first, the last that is loaded", () => false, []),
    press("Home", "", () => move(state, grid(), -Infinity), ["Home"]),
    press("End", "", () => move(state, grid(), Infinity), ["End"]),
    press("Enter", "open the recording", () => {
      const at = selected();
      if (at === null) return false;
      location.assign(at.url);
      return true;
    }),
    press("Space", "choose it to compare", () => {
      const at = selected();
      if (at === null) return false;
      state.choose(at);
      return true;
    }, [" "]),
    press("c", "compare the two that are chosen", () => {
      const address = compareAddress(state.chosen.value);
      if (address === null) return false;
      location.assign(address);
      return true;
    }),
    press("Esc", "close the panel, or forget what was chosen", () => {
      if (state.panelShown.value) state.panelShown.value = false;
      else state.clear();
      return true;
    }, ["Escape"]),
    ...siteBindings(state.site),
  ];
}

/** By so many rows; 0: to the selected one. The focus goes along, so that a screen reader reads the row. */
function move(state: ListState, grid: HTMLElement | null, by: number): boolean {
  const rows = state.rows.value ?? [];
  if (rows.length === 0 || grid === null) return false;
  const at = rows.findIndex(({ id }) => id === state.selected.value);
  const to = rows[Math.min(rows.length - 1, Math.max(0, at + by))];
  if (to === undefined) return false;
  state.select(to.id);
  grid.querySelector<HTMLElement>(`[data-row="${CSS.escape(to.id)}"]`)?.focus();
  return true;
}
