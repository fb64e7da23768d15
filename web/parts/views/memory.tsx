// Resident memory over time, where the recording has it, what ran in the time that is kept, and what heaps held.
import { useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { commonStack, frequentStack, memoryLines } from "../../model/time/memory";
import type { Heap, Profile } from "../../model/tables/profile";
import { standsFor } from "../../model/tree/fold";
import { share, weightOf, ROOT } from "../../model/tree/tree";
import type { BoxIndex } from "../../model/units";
import { bytesWords, momentWords, shareWords } from "../../model/words";
import { keptTime } from "../state/page-state";
import type { PageState } from "../state/page-state";
import { HeapTable } from "./heap-table";
import { LineKey, MemoryChart, processLabel } from "./memory/chart";

export function MemoryView({ state }: { state: PageState }): JSX.Element {
  const { profile, heaps } = state.recording;
  return (
    <div class="memory-all">
      {profile.rss.length === 0 ? <p class="absent">This recording has no memory over time. genba run --mem records the resident memory of every process.</p> : <Resident state={state} />}
      {heaps === null ? <p class="absent">It has no heap by class. genba run --heap-every 10s keeps one every ten seconds; genba heap PID shows that of a running program.</p> : <HeapTable state={state} heaps={heaps} />}
    </div>
  );
}

function Resident({ state }: { state: PageState }): JSX.Element {
  const { profile } = state.recording;
  const chart = useComputed(() => memoryLines(keptProcesses(state), keptTime(state)));
  const { lines, maxBytes, start, end } = chart.value;
  return (
    <section class="memory-view" aria-label="Memory">
      <p class="quiet">
        {lines.length === 0 ? "No memory was noted in this time." : `Resident memory by process, up to ${bytesWords(maxBytes)}, from ${momentWords(start)} to ${momentWords(end)}.`}
      </p>
      <ul>
        {lines.map(({ process, first, mean, max, last }) => (
          <li key={process}><LineKey process={process} />{processLabel(process, profile.processes)}: {bytesWords(first)} at first, {bytesWords(mean)} in the mean, up to {bytesWords(max)}, {bytesWords(last)} at last</li>
        ))}
      </ul>
      {lines.length === 0 ? null : <MemoryChart lines={chart.value} processes={profile.processes} heaps={keptHeaps(state)} />}
      <Stacks state={state} />
    </section>
  );
}

function keptProcesses({ filters, recording: { profile } }: PageState): Pick<Profile, "rss" | "processes"> {
  const { process } = filters.kept.value;
  return process === null ? profile : { ...profile, rss: profile.rss.filter((row) => row.process === process) };
}

function keptHeaps({ filters, recording: { heaps } }: PageState): readonly Heap[] {
  const { process } = filters.kept.value;
  return (heaps?.rows ?? []).filter((heap) => process === null || heap.process === process);
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
    <div class="stack-line">
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
