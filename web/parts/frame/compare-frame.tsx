// What stands around the views on a page of a comparison: both recordings' names, the switch between them, both accountings.
import { batch } from "@preact/signals";
import type { JSX } from "preact";
import type { ComparisonState, Side } from "../state/comparison";
import { SIDES } from "../state/comparison";
import type { PageState } from "../state/page-state";
import { KeysButton, Segments, ThemeButton } from "./buttons";

/** Whether the view on the screen is of both recordings. */
export function isCompared(state: PageState): boolean {
  return state.comparison !== null && state.view.name.value === "compare";
}

export function CompareHeader({ state, of: { data } }: { state: PageState; of: ComparisonState }): JSX.Element {
  return (
    <header>
      <span class="mark">genba</span>
      <h1 class="run" title={`${data.before} → ${data.after}`}>A {data.before} → B {data.after}</h1>
      <span class="grow" />
      <ThemeButton view={state.view} />
    </header>
  );
}

/** With the letters of `genba diff`. */
const SIDE_WORDS: Readonly<Record<Side, string>> = { before: "A before", after: "B after" };

/** Which recording the views 1 to 9 show. */
export function SideSwitch({ state }: { state: PageState }): JSX.Element | null {
  const { comparison, view } = state;
  if (comparison === null) return null;
  return (
    <Segments<Side>
      label="Recording"
      all={SIDES}
      words={SIDE_WORDS}
      titles={comparison.data}
      chosen={isCompared(state) ? null : comparison.side.value}
      attribute="data-side"
      choose={(side) => {
        batch(() => {
          if (isCompared(state)) view.name.value = "where";
          comparison.side.value = side;
        });
      }}
    />
  );
}

export function CompareFooter({ state, of: { data } }: { state: PageState; of: ComparisonState }): JSX.Element {
  return (
    <footer>
      <span class="compare-accounts" data-accounting>
        {data.accounts.map((line) => (
          <span key={line}>{line}</span>
        ))}
      </span>
      <span class="grow" />
      <KeysButton view={state.view} />
    </footer>
  );
}
