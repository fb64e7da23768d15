// Threads as rows: what each did when, how much of its wall time it ran, and what it waited for.
import type { JSX } from "preact";
import { useComputed } from "@preact/signals";
import type { Signal } from "@preact/signals";
import { threadRows } from "../../model/time/threads";
import type { ThreadRow } from "../../model/time/threads";
import { binCount } from "../../model/tables/moments";
import { threadLanes } from "../../model/time/time-line";
import type { Lane, Lanes } from "../../model/time/time-line";
import { tintOf } from "../../model/tint";
import { isRunning, share } from "../../model/tree/tree";
import { exactTime, plural, shareWords, stateName, timeWords } from "../../model/words";
import { LanePicture } from "./lane";
import type { PageState } from "../state/page-state";

const STATES_SHOWN = 4;

/** More columns than a lane has pixels tell nothing. */
const COLUMNS_MAX = 1_000;
/** More lanes than these are opened by a click. */
const LANES_MAX = 40;

export function ThreadsView({ state }: { state: PageState }): JSX.Element {
  const { lists } = state.view;
  const rows = useComputed(() => threadRows(state.filters.profile.value));
  const lanes = useComputed(() => lanesOf(state));
  const longest = Math.max(1, ...rows.value.map(({ wall }) => wall));
  const busy = rows.value.filter((row) => !isIdle(row));
  const [shown, more] = [busy.slice(0, LANES_MAX), busy.slice(LANES_MAX)];
  const list = (of: readonly ThreadRow[]): JSX.Element[] =>
    of.map((row) => <Thread key={row.thread} state={state} row={row} longest={longest} lanes={lanes.value} />);
  return (
    <section class="threads-view" aria-label="Threads">
      <p class="quiet">
        {plural(rows.value.length, "thread")}, the busiest first. {lanes.value === null ? "Each bar is wall time: solid ran, hatched waited." : "Each lane is time from left to right: solid ran, by whose code; hatched waited. A thread that runs Python holds the GIL; in C it may."} A click keeps that thread alone.
      </p>
      {list(shown)}
      <Folded words={plural(more.length, "more thread")} count={more.length} rows={() => list(more)} isWhole={lists.threads} />
      <Folded words={`${plural(rows.value.length - busy.length, "thread")} that hardly ran`} count={rows.value.length - busy.length} rows={() => list(rows.value.filter(isIdle))} isWhole={lists.idle} />
    </section>
  );
}

/** Ran for less than a hundredth of its time. */
function isIdle({ wall, states }: ThreadRow): boolean {
  const ran = states.reduce((sum, { state, wall }) => (isRunning(state) ? sum + wall : sum), 0);
  return ran < wall / 100;
}

function lanesOf({ recording: { profile }, filters }: PageState): Lanes | null {
  const { moments } = profile;
  if (moments === null) return null;
  const { time, process } = filters.kept.value;
  return threadLanes(profile, moments, { range: time ?? { first: 0, end: binCount(moments) }, process, columnsMax: COLUMNS_MAX });
}

/** Rows that are made when they are asked for. */
function Folded({ words, count, rows, isWhole }: { words: string; count: number; rows: () => JSX.Element[]; isWhole: Signal<boolean> }): JSX.Element | null {
  if (count === 0) return null;
  return (
    <details
      class="folded"
      open={isWhole.value}
      data-folded
      onToggle={({ currentTarget }) => {
        isWhole.value = currentTarget.open;
      }}
    >
      <summary>{words}</summary>
      {isWhole.value ? rows() : null}
    </details>
  );
}

function Thread({ state, row, longest, lanes }: { state: PageState; row: ThreadRow; longest: number; lanes: Lanes | null }): JSX.Element {
  const lane: Lane | undefined = lanes?.lanes.find(({ thread }) => thread === row.thread);
  const { threads, processes } = state.recording.profile;
  const thread = threads[row.thread];
  const process = thread === undefined ? undefined : processes[thread.process];
  const rest = row.states.length - STATES_SHOWN;
  return (
    <button
      type="button"
      class="thread"
      aria-pressed={state.filters.kept.value.thread === row.thread}
      onClick={() => {
        state.filters.change({ thread: state.filters.kept.value.thread === row.thread ? null : row.thread });
      }}
    >
      <span class="name">
        <b>{thread?.name ?? "thread"}</b>
        <span class="quiet">{(thread?.tid ?? null) === null ? "" : `thread ${thread?.tid ?? 0} · `}{processes.length > 1 ? `process ${process?.pid ?? "?"} · ` : ""}{timeWords(row.cpu)} CPU of {timeWords(row.wall)} wall</span>
      </span>
      {lanes !== null && lane !== undefined ? <LanePicture state={state} lanes={lanes} lane={lane} /> : (
        <span class="states" style={{ "--share": `${(row.wall / longest) * 100}%` }}>
          {row.states.map(({ state: name, wall }) => (
            <i key={name} class={tint(name)} style={{ flexGrow: wall / row.wall }} title={`${stateName(name)} ${exactTime(wall)}`} />
          ))}
        </span>
      )}
      <span class="quiet">
        {row.states.slice(0, STATES_SHOWN).map(({ state: name, wall }) => `${stateName(name)} ${shareWords(share(wall, row.wall))}`).join(" · ")}
        {rest > 0 ? ` · ${plural(rest, "more state")}` : ""}
      </span>
    </button>
  );
}

function tint(state: string): string {
  return state === "running" ? "tint-own" : `tint-${tintOf({ kind: "state", state })}`;
}
