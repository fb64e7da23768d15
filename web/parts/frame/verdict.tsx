// Why the program is slow, in the report's words, which are of all that was recorded; each place leads to its box in the call tree.
import { useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { isAll } from "../../model/tables/kept";
import { verdictLines, withoutOpening } from "../../model/verdict";
import type { Piece } from "../../model/verdict";
import type { PageState } from "../state/page-state";

export function Verdict({ state }: { state: PageState }): JSX.Element | null {
  const { verdict } = state.recording;
  const lines = useComputed(() => (verdict === null ? [] : verdictLines(state.filters.tree.value, verdict, state.view.weight.value)));
  if (verdict === null) return null;
  const isWhole = state.view.name.value === "where";
  return (
    <section class="verdict" aria-label="Why it is slow">
      {lines.value.slice(0, isWhole ? undefined : 1).map((line, at) => (
        <p key={at}>
          {at === 0 ? <b>{verdict.name}{isAll(state.filters.kept.value) ? "" : ", of the whole recording"}: </b> : null}
          {(isWhole ? line : withoutOpening(line)).map((piece, part) => (
            <Part key={part} state={state} piece={piece} />
          ))}
        </p>
      ))}
    </section>
  );
}

function Part({ state, piece: { text, box } }: { state: PageState; piece: Piece }): JSX.Element {
  if (box === null) return <>{text}</>;
  return (
    <button
      type="button"
      class="link"
      onClick={() => {
        state.showBox(box);
      }}
    >
      {text}
    </button>
  );
}
