// Resident memory over time, where the recording has it, what ran in the time that is kept, and what heaps held.
import { useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { commonStack, frequentStack, memoryLines } from "../../model/time/memory";
import type { MemoryLines } from "../../model/time/memory";
import type { Heap } from "../../model/tables/profile";
import { standsFor } from "../../model/tree/fold";
import { share, weightOf, ROOT } from "../../model/tree/tree";
import type { BoxIndex, Ns } from "../../model/units";
import { bytesWords, momentWords, shareWords } from "../../model/words";
import type { PageState } from "../state/page-state";
import { HeapTable } from "./heap-table";

const WIDTH = 1000;
const HEIGHT = 300;

export function MemoryView({ state }: { state: PageState }): JSX.Element {
  const { profile, heaps } = state.recording;
  return (
    <>
      {profile.rss.length === 0 ? <p class="absent">This recording has no memory over time. genba run --mem records the resident memory of every process.</p> : <Resident state={state} />}
      {heaps === null ? <p class="absent">It has no heap by class. genba run --heap-every 10s keeps one every ten seconds; genba heap PID shows that of a running program.</p> : <HeapTable state={state} heaps={heaps} />}
    </>
  );
}

function Resident({ state }: { state: PageState }): JSX.Element {
  const { profile, heaps } = state.recording;
  const chart = useComputed(() => memoryLines(profile, keptTime(state)));
  const { lines, maxBytes, start, end } = chart.value;
  return (
    <section class="memory-view" aria-label="Memory" data-memory>
      <p class="quiet">
        {lines.length === 0 ? "No memory was noted in this time." : `Resident memory by process, up to ${bytesWords(maxBytes)}, from ${momentWords(start)} to ${momentWords(end)}.`}
      </p>
      <Chart lines={chart.value} heaps={heaps?.rows ?? []} />
      <ul>
        {lines.map(({ process, first, mean, max, last }) => (
          <li key={process}>process {profile.processes[process]?.pid ?? "?"}: {bytesWords(first)} at first, {bytesWords(mean)} in the mean, up to {bytesWords(max)}, {bytesWords(last)} at last</li>
        ))}
      </ul>
      <Stacks state={state} />
    </section>
  );
}

function keptTime({ filters, recording: { profile } }: PageState): { start: Ns; end: Ns } | null {
  const { time } = filters.kept.value;
  const length = profile.moments?.binLength;
  return time === null || length === undefined ? null : { start: (time.first * length) as Ns, end: (time.end * length) as Ns };
}

function Chart({ lines: { lines, maxBytes, start, end }, heaps }: { lines: MemoryLines; heaps: readonly Heap[] }): JSX.Element {
  const x = (at: number): number => ((at - start) / Math.max(1, end - start)) * WIDTH;
  return (
    <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={`Resident memory, up to ${bytesWords(maxBytes)}`}>
      {lines.map(({ process, points }) => (
        <polyline key={process} points={points.map(([at, bytes]) => `${x(at)},${HEIGHT - (bytes / maxBytes) * HEIGHT}`).join(" ")} />
      ))}
      {heaps.filter(({ at }) => at >= start && at <= end).map((heap) => (
        <line key={heap.file} x1={x(heap.at)} x2={x(heap.at)} y1={0} y2={HEIGHT}>
          <title>heap at {momentWords(heap.at)}: {bytesWords(heap.bytes)}</title>
        </line>
      ))}
    </svg>
  );
}

/** What was on all stacks of the samples that are kept, and the stack that was there most. */
function Stacks({ state }: { state: PageState }): JSX.Element {
  const weight = state.view.weight.value;
  const tree = state.filters.tree.value;
  const common = useComputed(() => commonStack(state.filters.tree.value, state.view.weight.value));
  const frequent = useComputed(() => frequentStack(state.filters.tree.value, state.view.weight.value));
  return (
    <>
      <StackLine state={state} words="On every stack" stack={common.value} />
      <StackLine state={state} words={`The most frequent stack, ${shareWords(share(frequent.value.self, weightOf(tree.total, ROOT, weight)))}`} stack={frequent.value.stack} />
    </>
  );
}

function StackLine({ state, words, stack }: { state: PageState; words: string; stack: readonly BoxIndex[] }): JSX.Element {
  // The interpreter's calls are folded as in the call tree.
  const shown = [...new Set(stack.map((box) => standsFor(state.selection.tree.value, box)))];
  return (
    <div class="stack-line" data-stack>
      <span class="quiet">{words}:</span>{" "}
      {shown.length === 0 ? "no call" : shown.map((box, at) => (
        <span key={box}>
          {at === 0 ? "" : " → "}
          <button
            type="button"
            class="link"
            onClick={() => {
              state.showBox(box);
            }}
          >
            {state.nameOf(box)}
          </button>
        </span>
      ))}
    </div>
  );
}
