// "Where it goes": the rows, and the call tree below them.
import type { JSX } from "preact";
import { isAll } from "../../model/tables/kept";
import { Icicle } from "../icicle/icicle";
import type { PageState } from "../state/page-state";
import { pictureOf } from "../icicle/picture";
import { Functions } from "./functions";
import { Where } from "./where-rows";

export function WhereView({ state, onPainted }: { state: PageState; onPainted: () => void }): JSX.Element {
  // The report's rows are of all that was recorded.
  const rows = isAll(state.filters.kept.value) ? <Where state={state} /> : <Functions state={state} by="expression" />;
  return (
    <>
      {rows}
      <Icicle picture={pictureOf(state)} onPainted={onPainted} />
    </>
  );
}
