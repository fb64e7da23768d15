// The heaps that were walked during the recording: one of them by class, and what has grown since another.
import { useComputed, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { Heap, Heaps } from "../../model/tables/profile";
import { firstPair, heapRows } from "../../model/time/heaps";
import type { HeapPair, HeapRow } from "../../model/time/heaps";
import { bytesWords, grouped, momentWords, plural, shareWords, timeWords } from "../../model/words";
import { share } from "../../model/tree/tree";
import { More } from "../more";
import type { PageState } from "../state/page-state";

const ROWS_FIRST = 30;
const MOMENTS: Readonly<Record<string, string>> = { signal: "asked for", interval: "at an interval", rss: "at a size of the process", before_gc: "before a full collection", after_gc: "after a full collection", exit: "at exit" };

export function HeapTable({ state, heaps }: { state: PageState; heaps: Heaps }): JSX.Element {
  const pair = useComputed(() => state.view.heaps.value ?? firstPair(heaps, state.filters.kept.value.process));
  if (pair.value === null) return <p class="absent">No heap of this process was walked.</p>;
  return <Compared state={state} heaps={heaps} pair={pair.value} />;
}

function Compared({ state, heaps, pair }: { state: PageState; heaps: Heaps; pair: HeapPair }): JSX.Element {
  const shown = useSignal(ROWS_FIRST);
  const [before, after] = [pair.before === null ? undefined : heaps.rows[pair.before], heaps.rows[pair.after]];
  const rows = heapRows(heaps, pair);
  const more = rows.length - shown.value;
  if (after === undefined) return <p class="absent">No heap of this process was walked.</p>;
  const choose = (change: Partial<HeapPair>): void => {
    const chosen = { ...pair, ...change };
    state.view.heaps.value = chosen.before === chosen.after ? { ...chosen, before: null } : chosen;
  };
  return (
    <section class="table-view heap-view" aria-label="The heap by class">
      <p>
        <Choice state={state} heaps={heaps} label="Heap" value={pair.after} onChoose={(at) => { choose({ after: at ?? pair.after }); }} />
        {heaps.rows.length < 2 ? null : <Choice state={state} heaps={heaps} label="compared with" value={pair.before} onChoose={(at) => { choose({ before: at }); }} none="none" />}
      </p>
      <p>
        <b>{bytesWords(after.bytes)}</b> in {plural(after.objects, "object")}
        {before === undefined ? "" : <>: <b>{signed(after.bytes - before.bytes, bytesWords)}</b>, {signed(after.objects - before.objects, grouped)} objects since then</>}.
        {" "}<span class="quiet">{heldWords(after)}{heaps.leftOut > 0 ? ` Not in this page: ${plural(heaps.leftOut, "more heap")}; the files beside the recording have all.` : ""}</span>
      </p>
      <table>
        <thead>
          <tr>
            {before === undefined ? null : <th scope="col">grown by</th>}
            <th scope="col">bytes</th>
            <th scope="col">objects</th>
            {before === undefined ? null : <th scope="col">more objects</th>}
            <th scope="col" class="name">class</th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, shown.value).map((row) => <Row key={row.name ?? ""} row={row} isCompared={before !== undefined} whole={after.bytes} />)}
        </tbody>
      </table>
      <More count={more} one="class" many="classes" onMore={() => { shown.value += 10 * ROWS_FIRST; }} />
      <p class="quiet">
        {rows.some(({ isAbout }) => isAbout) ? <>≈: not among the largest classes of one of the two heaps; it had at most {bytesWords(Math.max(after.unlistedMax, before?.unlistedMax ?? 0))} there. </> : null}
        {before === undefined ? null : <>With all classes: <code>genba heap diff {before.file} {after.file}</code>. </>}
        What keeps the objects of a class alive in a running program: <code>genba heap refs PID --class CLASS</code>.
      </p>
    </section>
  );
}

function Choice({ state, heaps, label, value, onChoose, none }: { state: PageState; heaps: Heaps; label: string; value: number | null; onChoose: (at: number | null) => void; none?: string }): JSX.Element {
  return (
    <label>
      {label}{" "}
      <select
        value={value === null ? "" : `${value}`}
        onChange={({ currentTarget }) => {
          onChoose(currentTarget.value === "" ? null : Number(currentTarget.value));
        }}
      >
        {none === undefined ? null : <option value="">{none}</option>}
        {heaps.rows.map((heap, at) => <option key={at} value={`${at}`}>{heapWords(heap, state)}</option>)}
      </select>{" "}
    </label>
  );
}

function heapWords({ at, moment, process, file }: Heap, { recording: { profile } }: PageState): string {
  const pid = profile.processes.length < 2 || process === null ? "" : ` of process ${profile.processes[process]?.pid ?? "?"}`;
  return `${momentWords(at)}${pid}, ${MOMENTS[moment] ?? moment} (${file})`;
}

function heldWords({ pause, isCollected }: Heap): string {
  return `The program was held for ${timeWords(pause)}.${isCollected ? " A full collection ran just before." : " Garbage that was not freed yet counts, too."}`;
}

function Row({ row, isCompared, whole }: { row: HeapRow; isCompared: boolean; whole: number }): JSX.Element {
  const tone = row.bytesGrown > 0 ? "more" : row.bytesGrown < 0 ? "less" : undefined;
  return (
    <tr data-row>
      {isCompared ? <td data-tone={tone}><b>{row.isAbout ? "≈ " : ""}{row.bytesGrown === 0 ? "–" : signed(row.bytesGrown, bytesWords)}</b></td> : null}
      <td title={`${grouped(row.bytes)} bytes`}>{bytesWords(row.bytes)} <span class="quiet">{shareWords(share(row.bytes, whole))}</span></td>
      <td>{grouped(row.objects)}</td>
      {isCompared ? <td>{row.isAbout ? "≈ " : ""}{row.objectsGrown === 0 ? "–" : signed(row.objectsGrown, grouped)}</td> : null}
      <td class="name">{row.name ?? "all other classes"}</td>
    </tr>
  );
}

function signed(value: number, words: (size: number) => string): string {
  return `${value < 0 ? "−" : "+"}${words(Math.abs(value))}`;
}
