// Threads as rows: how much of its wall time each ran, and what it waited for.
import type { JSX } from "preact";
import { useComputed } from "@preact/signals";
import { threadRows } from "../../model/threads";
import type { ThreadRow } from "../../model/threads";
import { isRunning, share } from "../../model/tree/tree";
import { exactTime, plural, shareWords, stateName, timeWords } from "../../model/words";
import type { PageState } from "../state/page-state";

const STATES_SHOWN = 4;

export function ThreadsView({ state }: { state: PageState }): JSX.Element {
  const rows = useComputed(() => threadRows(state.filters.profile.value));
  const longest = Math.max(1, ...rows.value.map(({ wall }) => wall));
  return (
    <section class="threads-view" aria-label="Threads" data-threads>
      <p class="quiet">{plural(rows.value.length, "thread")}, the busiest first. Each bar is wall time: solid ran, hatched waited. A click keeps that thread alone.</p>
      {rows.value.map((row) => (
        <Thread key={row.thread} state={state} row={row} longest={longest} />
      ))}
    </section>
  );
}

function Thread({ state, row, longest }: { state: PageState; row: ThreadRow; longest: number }): JSX.Element {
  const { threads, processes } = state.recording.profile;
  const thread = threads[row.thread];
  const process = thread === undefined ? undefined : processes[thread.process];
  const rest = row.states.length - STATES_SHOWN;
  return (
    <button
      type="button"
      class="thread"
      data-thread-row
      aria-pressed={state.filters.kept.value.thread === row.thread}
      onClick={() => {
        state.filters.change({ thread: state.filters.kept.value.thread === row.thread ? null : row.thread });
      }}
    >
      <span class="name">
        <b>{thread?.name ?? "thread"}</b>
        <span class="quiet">{processes.length > 1 ? `process ${process?.pid ?? "?"} · ` : ""}{timeWords(row.cpu)} CPU of {timeWords(row.wall)} wall</span>
      </span>
      <span class="states" style={{ "--share": `${(row.wall / longest) * 100}%` }}>
        {row.states.map(({ state: name, wall }) => (
          <i key={name} class={tint(name)} style={{ flexGrow: wall / row.wall }} title={`${stateName(name)} ${exactTime(wall)}`} />
        ))}
      </span>
      <span class="quiet">
        {row.states.slice(0, STATES_SHOWN).map(({ state: name, wall }) => `${stateName(name)} ${shareWords(share(wall, row.wall))}`).join(" · ")}
        {rest > 0 ? ` · ${plural(rest, "more state")}` : ""}
      </span>
    </button>
  );
}

function tint(state: string): string {
  if (state === "in gc") return "tint-gc";
  return isRunning(state) ? "tint-own" : "tint-wait";
}
