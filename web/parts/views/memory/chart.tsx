// The chart of resident memory: a line for each process in a colour of its own, and its numbers on both axes.
import type { JSX } from "preact";
import { axisTicks } from "../../../model/time/axis";
import type { MemoryLines } from "../../../model/time/memory";
import type { Heap, Process } from "../../../model/tables/profile";
import type { Ns, ProcessIndex } from "../../../model/units";
import { fileName } from "../../../model/tables/file-names";
import { bytesWords, momentWords } from "../../../model/words";

const [WIDTH, HEIGHT] = [1000, 300];
const [BYTES_TICKS, TIME_TICKS] = [6, 5];
/** Colours of style/light.css, and strokes of style/views/memory.css: the seventh process has the first colour, dashed. */
const [COLOURS, STROKES] = [6, 3];

export function MemoryChart({ lines: { lines, maxBytes, start, end }, processes, heaps }: { lines: MemoryLines; processes: readonly Process[]; heaps: readonly Heap[] }): JSX.Element {
  const along = (at: number): number => (at - start) / Math.max(1, end - start);
  const up = (bytes: number): number => bytes / maxBytes;
  const bytesTicks = axisTicks(0, maxBytes, BYTES_TICKS);
  return (
    <figure class="memory-chart">
      <div data-axis="bytes" aria-hidden="true">
        {bytesTicks.map((bytes) => <span key={bytes} style={{ bottom: `${up(bytes) * 100}%` }}>{bytes === 0 ? "0" : bytesWords(bytes)}</span>)}
      </div>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={`Resident memory, up to ${bytesWords(maxBytes)}`}>
        {bytesTicks.map((bytes) => <line key={bytes} class="tick" x1={0} x2={WIDTH} y1={HEIGHT * (1 - up(bytes))} y2={HEIGHT * (1 - up(bytes))} />)}
        {lines.map(({ process, points }) => (
          <polyline key={process} {...lookOf(process)} points={points.map(([at, bytes]) => `${along(at) * WIDTH},${HEIGHT * (1 - up(bytes))}`).join(" ")}>
            <title>{processLabel(process, processes)}</title>
          </polyline>
        ))}
        {heaps.filter(({ at }) => at >= start && at <= end).map((heap) => (
          <line key={heap.file} class="heap" {...(heap.process === null ? {} : lookOf(heap.process))} x1={along(heap.at) * WIDTH} x2={along(heap.at) * WIDTH} y1={0} y2={HEIGHT}>
            <title>heap{heap.process === null ? "" : ` of ${processLabel(heap.process, processes)}`} at {momentWords(heap.at)}: {bytesWords(heap.bytes)}</title>
          </line>
        ))}
      </svg>
      <div data-axis="time" aria-hidden="true">
        {axisTicks(start, end, TIME_TICKS).map((at) => <span key={at} style={{ left: `${along(at) * 100}%` }}>{momentWords(at as Ns)}</span>)}
      </div>
    </figure>
  );
}

/** The line beside a process's name. */
export function LineKey({ process }: { process: ProcessIndex }): JSX.Element {
  return <i class="line-key" {...lookOf(process)} />;
}

export function processLabel(process: ProcessIndex, processes: readonly Process[]): string {
  const { pid = null, argv = [] } = processes[process] ?? {};
  return ["process", pid ?? "?", ...argv.slice(0, 3).map((word) => (word.startsWith("/") ? fileName(word) : word))].join(" ");
}

function lookOf(process: ProcessIndex): { style: Record<string, string>; "data-stroke": number } {
  return { style: { "--series": `var(--series-${(process % COLOURS) + 1})` }, "data-stroke": Math.floor(process / COLOURS) % STROKES };
}
