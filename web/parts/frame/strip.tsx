// CPU over time, above every view: a range that is dragged there, or set by its two handles, is kept in all of them.
import { useComputed, useSignal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import type { JSX } from "preact";
import { binCount } from "../../model/tables/moments";
import type { Range } from "../../model/tables/moments";
import type { Mark, Moments } from "../../model/tables/profile";
import { coresIn, coresTop, cpuLine, timeSteps } from "../../model/time/time-line";
import type { Ns } from "../../model/units";
import { coresWords, momentWords } from "../../model/words";
import type { PageState } from "../state/page-state";
import { PHONE, useNarrow } from "./narrow";

const LABELS_MAX = 8;
/** Nearer to the one before, as a part of the length, a word would lie on another. */
const WORD_ROOM = 0.08;
/** Finer ones show single samples, and no load. */
const COLUMNS_MAX = 240;
/** Of the picture's own height. */
const HEIGHT = 100;
/** A drag over less is a click. */
const DRAG_PX_MIN = 3;
const STEPS = 100;

export function Strip({ state }: { state: PageState }): JSX.Element | null {
  const { moments } = state.recording.profile;
  return moments === null || binCount(moments) < 2 ? null : <Line state={state} moments={moments} />;
}

function Line({ state, moments }: { state: PageState; moments: Moments }): JSX.Element {
  const { profile } = state.recording;
  const line = useComputed(() => cpuLine(profile, moments, COLUMNS_MAX));
  const dragged = useSignal<Range | null>(null);
  const bins = binCount(moments);
  const at = (bin: number): Ns => (bin * moments.binLength) as Ns;
  const length = at(bins);
  const range = dragged.value ?? state.filters.kept.value.time;
  const top = coresTop(line.value);
  /** On a phone has less than half of the room. */
  const times = useNarrow(PHONE).value ? 0.4 : 1;
  const named = new Set(range === null && profile.marks.length <= LABELS_MAX ? apart(profile.marks, (length * WORD_ROOM) / times) : []);
  const percent = (bin: number): string => `${(bin / bins) * 100}%`;
  return (
    <section class="strip" aria-label="CPU over time">
      <span class="quiet top" aria-hidden="true">{top === 1 ? "1 core" : `${top} cores`}</span>
      <div class="chart" onPointerDown={(event) => { drag(event, { state, bins, dragged }); }}>
        <svg viewBox={`0 0 ${line.value.columns} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          <path class="cores" d={area(line.value.cores, top)} />
          <path class="collections" d={area(line.value.gc, top)} />
        </svg>
        {profile.marks.map((mark, row) => (
          <i key={row} class="event" style={axisPlace(mark.at, length)} title={`${momentWords(mark.at)}: ${mark.text ?? mark.kind}`}>
            {named.has(mark) ? <span>{mark.kind}</span> : null}
          </i>
        ))}
        {range === null ? null : (
          <>
            <i class="outside" style={{ left: 0, width: percent(range.first) }} />
            <i class="outside" style={{ left: percent(range.end), right: 0 }} />
          </>
        )}
        <Handle state={state} moments={moments} bins={bins} range={range} end="first" />
        <Handle state={state} moments={moments} bins={bins} range={range} end="end" />
        {range === null ? null : <output class="quiet kept-time" style={axisPlace(at((range.first + range.end) / 2), length)}>{rangeWords(range, moments)} · {coresWords(coresIn(moments, range))}</output>}
      </div>
      <div class="axis quiet" aria-hidden="true">
        {timeSteps(length, LABELS_MAX * times).map((step) => (
          <span key={step} style={axisPlace(step, length)}>{momentWords(step)}</span>
        ))}
      </div>
    </section>
  );
}

export function rangeWords({ first, end }: Range, { binLength }: Moments): string {
  return `${momentWords((first * binLength) as Ns)} to ${momentWords((end * binLength) as Ns)}`;
}

/** Words at the left edge begin there, those at the right edge end there: none is cut. */
function axisPlace(at: Ns, length: Ns): { "--at": string } {
  return { "--at": `${Math.min(100, (at / length) * 100)}%` };
}

/** Those with at least so much time to the one before. */
function apart(marks: readonly Mark[], least: number): Mark[] {
  let before = -Infinity;
  return [...marks].sort((a, b) => a.at - b.at).filter(({ at }) => {
    const isApart = at - before >= least;
    if (isApart) before = at;
    return isApart;
  });
}

function area(values: readonly number[], top: number): string {
  const y = (value: number): string => (HEIGHT * (1 - Math.min(1, value / top))).toFixed(1);
  return `M0 ${HEIGHT}${values.map((value, column) => `V${y(value)}H${column + 1}`).join("")}V${HEIGHT}Z`;
}

/** From where the pointer goes down to where it comes up; a click takes the range away. */
function drag(event: PointerEvent, { state, bins, dragged }: { state: PageState; bins: number; dragged: Signal<Range | null> }): void {
  const chart = event.currentTarget;
  if (!(chart instanceof HTMLElement) || event.button !== 0 || (event.target instanceof HTMLElement && event.target.role === "slider")) return;
  event.preventDefault();
  chart.setPointerCapture(event.pointerId);
  const { left, width } = chart.getBoundingClientRect();
  const share = (x: number): number => Math.min(1, Math.max(0, (x - left) / Math.max(1, width)));
  const from = event.clientX;
  const rangeTo = (x: number): Range => {
    const [low, high] = [share(Math.min(from, x)) * bins, share(Math.max(from, x)) * bins];
    const first = Math.min(bins - 1, Math.floor(low));
    return { first, end: Math.max(first + 1, Math.min(bins, Math.ceil(high))) };
  };
  const isDrag = (x: number): boolean => Math.abs(x - from) >= DRAG_PX_MIN;
  const onMove = ({ clientX }: PointerEvent): void => {
    dragged.value = isDrag(clientX) ? rangeTo(clientX) : null;
  };
  const stop = (): void => {
    dragged.value = null;
    chart.removeEventListener("pointermove", onMove);
    chart.removeEventListener("pointerup", onUp);
    chart.removeEventListener("pointercancel", stop);
  };
  const onUp = ({ clientX }: PointerEvent): void => {
    stop();
    state.filters.change({ time: isDrag(clientX) ? rangeTo(clientX) : null });
  };
  chart.addEventListener("pointermove", onMove);
  chart.addEventListener("pointerup", onUp);
  chart.addEventListener("pointercancel", stop);
}

/** One end of the range, for the keyboard. */
function Handle({ state, moments, bins, range, end }: { state: PageState; moments: Moments; bins: number; range: Range | null; end: "first" | "end" }): JSX.Element {
  const shown = range ?? { first: 0, end: bins };
  const value = shown[end];
  const [least, most] = end === "first" ? [0, shown.end - 1] : [shown.first + 1, bins];
  const step = Math.max(1, Math.round(bins / STEPS));
  const moves: Readonly<Record<string, number>> = {
    ArrowLeft: value - step, ArrowDown: value - step, ArrowRight: value + step, ArrowUp: value + step, PageDown: value - 10 * step, PageUp: value + 10 * step, Home: least, End: most,
  };
  return (
    <span
      role="slider"
      tabIndex={0}
      class="handle"
      data-shown={range !== null}
      aria-label={end === "first" ? "Keep the time from" : "Keep the time to"}
      aria-valuemin={least}
      aria-valuemax={most}
      aria-valuenow={value}
      aria-valuetext={momentWords((value * moments.binLength) as Ns)}
      style={{ left: `${(value / bins) * 100}%` }}
      onKeyDown={(event) => {
        const moved = moves[event.key];
        if (moved === undefined) return;
        event.preventDefault();
        event.stopPropagation();
        const next = { ...shown, [end]: Math.min(most, Math.max(least, moved)) };
        state.filters.change({ time: next.first === 0 && next.end === bins ? null : next });
      }}
    />
  );
}
