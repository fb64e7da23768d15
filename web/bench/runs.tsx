// A command: its runs in the order in which they were made, how many took how long, its block of the screen, and each run by itself.
import { useSignal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { CELLS, histogram, placeIn, placeOfRun, rangeAround, runAt } from "../model/bench/picture";
import type { Range } from "../model/bench/picture";
import type { Command } from "../model/bench/session";
import { fittingUnit, timeText } from "../model/bench/units";
import type { Unit } from "../model/bench/units";
import { axisTicks } from "../model/time/axis";
import { grouped, plural } from "../model/words";
import { TimesAxis } from "./axis";
import { Name } from "./name";

const [WIDTH, HEIGHT] = [1000, 100];
const TICKS = 5;
/** Of times that are all 0. */
export const NO_TIME = 1e-9;
const MANY = 200;

/** `range`: the scale that all commands share; null: its own. `unit`: null for the one that fits. */
export function Runs({ command, unit: asked, range: shared }: { command: Command; unit: Unit | null; range: Range | null }): JSX.Element {
  const { name, times, mean, words } = command;
  const unit = asked ?? fittingUnit(mean);
  const range = useMemo(() => shared ?? rangeAround(times, NO_TIME), [shared, times]);
  const ticks = useMemo(() => axisTicks(range.first, range.last, TICKS), [range]);
  const chosen = useSignal<number | null>(null);
  const areListed = useSignal(false);
  const list = useMemo(() => areListed.value ? <ol class="each">{times.map((seconds, at) => <li key={at}>{timeText(seconds, unit)}</li>)}</ol> : null, [areListed.value, times, unit]);
  return (
    <section data-command>
      <h2><Name name={name} /></h2>
      <figure class="runs">
        <TimesAxis ticks={ticks} range={range} unit={unit} />
        <InOrder command={command} unit={unit} range={range} ticks={ticks} chosen={chosen} />
        <Histogram times={times} unit={unit} range={range} />
        <Chosen times={times} unit={unit} chosen={chosen} />
        <span class="quiet">distribution of the times</span>
      </figure>
      <pre>{words}</pre>
      <details
        onToggle={(event) => {
          areListed.value = event.currentTarget.open;
        }}
      >
        <summary>Each run</summary>
        {list}
      </details>
    </section>
  );
}

interface Picture {
  readonly unit: Unit;
  readonly range: Range;
}

function InOrder({ command: { name, times, mean }, unit, range, ticks, chosen }: Picture & { command: Command; ticks: readonly number[]; chosen: Signal<number | null> }): JSX.Element {
  const up = (seconds: number): number => HEIGHT * (1 - placeIn(range, seconds));
  const dots = useMemo(() => times.map((seconds, at) => `M${rounded(placeOfRun(at, times.length) * WIDTH)} ${rounded(up(seconds))}h0`).join(""), [times, range]);
  const last = times.length - 1;
  const run = chosen.value;
  const moves: Readonly<Record<string, number>> = { ArrowLeft: (run ?? times.length) - 1, ArrowRight: (run ?? -1) + 1, Home: 0, End: last };
  return (
    <div
      class="picture"
      role="slider"
      tabIndex={0}
      aria-label={`Runs of ${name}`}
      aria-valuemin={1}
      aria-valuemax={times.length}
      aria-valuenow={(run ?? 0) + 1}
      aria-valuetext={runWords(times, run ?? 0, unit)}
      onPointerMove={(event) => {
        const { left, width } = event.currentTarget.getBoundingClientRect();
        chosen.value = runAt((event.clientX - left) / width, times.length);
      }}
      onPointerLeave={() => {
        chosen.value = null;
      }}
      onBlur={() => {
        chosen.value = null;
      }}
      onKeyDown={(event) => {
        const moved = moves[event.key];
        if (moved === undefined) return;
        event.preventDefault();
        chosen.value = Math.min(last, Math.max(0, moved));
      }}
    >
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        {ticks.map((tick) => <line key={tick} class="tick" x1={0} x2={WIDTH} y1={up(tick)} y2={up(tick)} />)}
        <line class="mean" x1={0} x2={WIDTH} y1={up(mean)} y2={up(mean)} />
        {run === null ? null : <line class="chosen" x1={placeOfRun(run, times.length) * WIDTH} x2={placeOfRun(run, times.length) * WIDTH} y1={0} y2={HEIGHT} />}
        <path class={times.length > MANY ? "dots many" : "dots"} d={dots} />
      </svg>
    </div>
  );
}

function Histogram({ times, unit, range }: Picture & { times: readonly number[] }): JSX.Element {
  const cells = useMemo(() => histogram(times, range), [times, range]);
  const most = Math.max(...cells);
  const at = (cell: number): string => timeText(range.first + ((range.last - range.first) * cell) / CELLS, unit);
  return (
    <svg class="histogram" viewBox={`0 0 ${WIDTH} ${CELLS}`} preserveAspectRatio="none" role="img" aria-label="Distribution of the times">
      {cells.map((count, cell) => count === 0 ? null : (
        <rect key={cell} x={0} y={CELLS - cell - 1} width={(count / most) * WIDTH} height={1}>
          <title>{`${plural(count, "run")} from ${at(cell)} to ${at(cell + 1)}`}</title>
        </rect>
      ))}
    </svg>
  );
}

function Chosen({ times, unit, chosen }: { times: readonly number[]; unit: Unit; chosen: Signal<number | null> }): JSX.Element {
  return <span class="chosen-run" data-chosen>{chosen.value === null ? `${plural(times.length, "run")} in order; the line is the mean` : runWords(times, chosen.value, unit)}</span>;
}

function runWords(times: readonly number[], run: number, unit: Unit): string {
  return `run ${grouped(run + 1)} of ${grouped(times.length)}: ${timeText(times[run] ?? 0, unit)}`;
}

/** Half a pixel of a screen is less. */
function rounded(value: number): string {
  return value.toFixed(1);
}
