// Resident memory over time, where the recording has it.
import { useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { memoryLines } from "../../model/time/memory";
import { bytesWords, timeWords } from "../../model/words";
import type { PageState } from "../state/page-state";

const WIDTH = 1000;
const HEIGHT = 300;

export function MemoryView({ state }: { state: PageState }): JSX.Element {
  const { profile } = state.recording;
  const chart = useComputed(() => memoryLines(profile));
  const { lines, maxBytes, end } = chart.value;
  if (lines.length === 0) return <p class="absent">This recording has no memory over time. genba run --mem records the resident memory of every process.</p>;
  return (
    <section class="memory-view" aria-label="Memory" data-memory>
      <p class="quiet">Resident memory by process, up to {bytesWords(maxBytes)}, over {timeWords(end)}.</p>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={`Resident memory, up to ${bytesWords(maxBytes)}`}>
        {lines.map(({ process, points }) => (
          <polyline key={process} points={points.map(([at, bytes]) => `${(at / end) * WIDTH},${HEIGHT - (bytes / maxBytes) * HEIGHT}`).join(" ")} />
        ))}
      </svg>
      <ul>
        {lines.map(({ process, first, max, last }) => (
          <li key={process}>process {profile.processes[process]?.pid ?? "?"}: {bytesWords(first)} at first, up to {bytesWords(max)}, {bytesWords(last)} at last</li>
        ))}
      </ul>
    </section>
  );
}
