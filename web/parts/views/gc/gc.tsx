// What collections cost, and where they ran. A collection runs at an expression; it is not caused by it.
// With `--gc` each of them is known (pauses.tsx); what the samples tell of them is known of every recording.
import { useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { collectionRows } from "../../../model/time/collections";
import { placeOf, ROOT, share, weightOf } from "../../../model/tree/tree";
import type { Weighed } from "../../../model/units";
import { placeWhere, shareWords, weightWords } from "../../../model/words";
import type { PageState } from "../../state/page-state";
import { Pauses } from "./pauses";

export function GcView({ state }: { state: PageState }): JSX.Element {
  const { collections } = state.recording;
  return (
    <section class="table-view gc-view" aria-label="Garbage collector">
      {collections === null ? null : <Pauses state={state} collections={collections} />}
      <SamplesInCollections state={state} />
      {collections === null ? <p class="quiet">genba run --gc records each collection: its pause, what it examined and collected.</p> : null}
    </section>
  );
}

function SamplesInCollections({ state }: { state: PageState }): JSX.Element {
  const weight = state.view.weight.value;
  const rows = useComputed(() => collectionRows(state.filters.tree.value, state.view.weight.value));
  const whole = weightOf(state.filters.tree.value.total, ROOT, weight);
  const all = rows.value.reduce((sum, row) => sum + row.weight, 0) as Weighed;
  if (rows.value.length === 0) return <p class="absent">No sample was taken while the collector ran. It cost less than one sample shows, or nothing.</p>;
  return (
    <section data-gc>
      <p>
        <b>{shareWords(share(all, whole))}</b> ({weightWords(all, weight)}) was spent in collections. <span class="quiet">They ran at these places; what fills a generation may be elsewhere.</span>
      </p>
      <table>
        <tbody>
          {rows.value.map((row) => (
            <tr
              key={row.box}
              onClick={() => {
                state.showBox(row.box);
              }}
            >
              <td><b>{shareWords(share(row.weight, whole))}</b> {weightWords(row.weight, weight)}</td>
              <td class="name"><button type="button">{state.nameOf(row.box)}</button> <span class="where">{placeWhere(placeOf(state.filters.tree.value, row.box))}</span></td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
