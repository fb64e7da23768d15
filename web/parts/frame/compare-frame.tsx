// What stands around the views on a page of a comparison: both recordings' names, the switch between them, both accountings.
import { batch } from "@preact/signals";
import type { JSX } from "preact";
import type { ComparisonState } from "../state/comparison";
import { SIDE_LETTERS, SIDES } from "../state/comparison";
import type { PageState } from "../state/page-state";

/** Whether the view on the screen is of both recordings. */
export function isCompared(state: PageState): boolean {
  return state.comparison !== null && state.view.name.value === "compare";
}

export function CompareHeader({ state, of: { data } }: { state: PageState; of: ComparisonState }): JSX.Element {
  return (
    <header>
      <span class="mark">genba</span>
      <h1 class="run" title={`${data.before} → ${data.after}`} data-compared>A {data.before} → B {data.after}</h1>
      <span class="grow" />
      <button
        type="button"
        class="plain"
        onClick={() => {
          state.view.switchTheme();
        }}
      >
        {state.view.theme.value === "light" ? "Dark" : "Light"}
      </button>
    </header>
  );
}

/** Which recording the views 1 to 9 show. */
export function SideSwitch({ state }: { state: PageState }): JSX.Element | null {
  const { comparison, view } = state;
  if (comparison === null) return null;
  return (
    <span class="segments" role="group" aria-label="Recording">
      {SIDES.map((side) => (
        <button
          type="button"
          key={side}
          data-side={side}
          title={comparison.data[side]}
          aria-pressed={!isCompared(state) && comparison.side.value === side}
          onClick={() => {
            batch(() => {
              if (isCompared(state)) view.name.value = "where";
              comparison.side.value = side;
            });
          }}
        >
          {SIDE_LETTERS[side]} {side}
        </button>
      ))}
    </span>
  );
}

export function CompareWarnings({ of: { data } }: { of: ComparisonState }): JSX.Element | null {
  if (data.warnings.length === 0) return null;
  return (
    <ul class="warnings" aria-label="Warnings" data-warnings>
      {data.warnings.map((warning) => (
        <li key={warning}>{warning}</li>
      ))}
    </ul>
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
      <button
        type="button"
        class="plain"
        onClick={() => {
          state.view.keysShown.value = true;
        }}
      >
        <kbd>?</kbd> keys
      </button>
    </footer>
  );
}
