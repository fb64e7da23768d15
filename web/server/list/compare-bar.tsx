// The two recordings that were chosen, and the way to what changed between them.
import type { JSX } from "preact";
import { weekdayWords } from "../../model/server/dates";
import { shortProgram } from "../../model/server/names";
import type { Recording } from "../../model/server/recordings";
import type { ListState } from "../state/list-state";

export function CompareBar({ state }: { state: ListState }): JSX.Element | null {
  const chosen = state.chosen.value;
  const address = compareAddress(chosen);
  if (chosen.length === 0) return null;
  const now = state.site.now.value;
  return (
    <div class="compare-bar" role="region" aria-label="Compare" data-compare-bar>
      <span>{chosen.length} chosen</span>
      {chosen.map(({ id, program, created }, at) => (
        <span key={id} class="compare-side cut">
          <b class="side">{at === 0 ? "A" : "B"}</b> <bdi>{shortProgram(program)}, {weekdayWords(created, now)}</bdi>
        </span>
      ))}
      {address === null ? <span class="quiet">Choose another one to compare with.</span> : null}
      <span class="grow" />
      {address === null ? null : <button type="button" class="link" onClick={state.swap}>swap</button>}
      <button type="button" class="link" onClick={state.clear}>clear</button>
      {address === null ? null : <a class="button full" href={address} data-compare>Compare <kbd>c</kbd></a>}
    </div>
  );
}

export function compareAddress([before, after]: readonly Recording[]): string | null {
  return before === undefined || after === undefined ? null : `/compare/${encodeURIComponent(before.id)}/${encodeURIComponent(after.id)}`;
}
