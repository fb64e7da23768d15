// The views as tabs, and the switches that hold for all of them: languages, process, thread; what is kept, as chips.
import type { JSX } from "preact";
import { useSignal } from "@preact/signals";
import { LAYERS } from "../../model/tables/kept";
import type { Kept, Layers } from "../../model/tables/kept";
import { share } from "../../model/tree/tree";
import type { ProcessIndex, ThreadIndex } from "../../model/units";
import { shareWords } from "../../model/words";
import { weightOfAll } from "../../model/tables/totals";
import type { PageState } from "../state/page-state";
import { isCompared, SideSwitch } from "./compare-frame";
import { VIEWS } from "../state/view";
import { rangeWords } from "./strip";
import type { ViewName } from "../state/view";

export const VIEW_WORDS: Readonly<Record<ViewName, string>> = {
  where: "Where", flame: "Flame", tree: "Tree", sandwich: "Sandwich", source: "Source", functions: "Functions", threads: "Threads", memory: "Memory", gc: "GC", compare: "Compare",
};
export const LAYER_WORDS: Readonly<Record<Layers, string>> = { both: "Python + C", python: "Python", c: "C" };

export function Tabs({ state }: { state: PageState }): JSX.Element {
  const { view } = state;
  // On a page of two recordings what changed comes first.
  const shown: readonly ViewName[] = state.comparison === null ? [...VIEWS, "compare"] : ["compare", ...VIEWS];
  return (
    <nav class="tabs" aria-label="Views">
      <span class="tab-list" role="tablist">
        {shown.map((name) => (
          <button
            type="button"
            role="tab"
            key={name}
            data-view={name}
            aria-selected={view.name.value === name}
            aria-keyshortcuts={name === "compare" ? "c" : `${VIEWS.indexOf(name) + 1}`}
            onClick={() => {
              view.name.value = name;
            }}
          >
            {VIEW_WORDS[name]}
          </button>
        ))}
      </span>
      <SideSwitch state={state} />
      <span class="grow" />
      {isCompared(state) ? null : <FilterMenu state={state} />}
    </nav>
  );
}

function FilterMenu({ state }: { state: PageState }): JSX.Element {
  const { filters } = state;
  return (
    <>
      <details class="menu" data-filter>
        <summary>Filter</summary>
        <div>
          <Owners state={state} />
          <PatternInput state={state} name="focus" words="Keep stacks with" />
          <PatternInput state={state} name="hide" words="Take out" />
          <label>
            <input
              type="checkbox"
              data-recursion
              checked={filters.kept.value.foldsRecursion}
              onChange={({ currentTarget: { checked } }) => {
                filters.change({ foldsRecursion: checked });
              }}
            />{" "}
            Recursion as one call
          </label>
        </div>
      </details>
      <span class="segments" role="group" aria-label="Frames">
        {LAYERS.map((layers) => (
          <button
            type="button"
            key={layers}
            data-layers={layers}
            aria-pressed={filters.kept.value.layers === layers}
            onClick={() => {
              filters.change({ layers });
            }}
          >
            {LAYER_WORDS[layers]}
          </button>
        ))}
      </span>
    </>
  );
}

/** Which process, which thread: only where there are several. */
function Owners({ state }: { state: PageState }): JSX.Element {
  const { processes, threads } = state.recording.profile;
  const { kept } = state.filters;
  const listed = threads.map((thread, at) => ({ thread, at })).filter(({ thread }) => kept.value.process === null || thread.process === kept.value.process);
  return (
    <>
      {processes.length < 2 ? null : (
        <select
          aria-label="Process"
          data-process
          value={kept.value.process ?? ""}
          onChange={({ currentTarget: { value } }) => {
            state.filters.change({ process: value === "" ? null : (Number(value) as ProcessIndex), thread: null });
          }}
        >
          <option value="">all processes</option>
          {processes.map((process, at) => (
            <option key={at} value={at}>{process.pid ?? "?"} {process.argv.slice(0, 3).join(" ")}</option>
          ))}
        </select>
      )}
      {threads.length < 2 ? null : (
        <select
          aria-label="Thread"
          data-thread
          value={kept.value.thread ?? ""}
          onChange={({ currentTarget: { value } }) => {
            state.filters.change({ thread: value === "" ? null : (Number(value) as ThreadIndex) });
          }}
        >
          <option value="">all threads</option>
          {listed.map(({ thread, at }) => (
            <option key={at} value={at}>{thread.name}</option>
          ))}
        </select>
      )}
    </>
  );
}

interface Chip {
  readonly name: keyof Kept;
  readonly words: string;
  readonly without: Partial<Kept>;
}

/** What is kept, each with a way back, and the share of all that it is. */
export function Chips({ state }: { state: PageState }): JSX.Element | null {
  const chips = chipsOf(state);
  if (chips.length === 0) return null;
  const weight = state.view.weight.value;
  const [kept, whole] = [weightOfAll(state.filters.profile.value, weight), weightOfAll(state.recording.profile, weight)];
  return (
    <p class="chips" aria-label="Kept" data-chips>
      {chips.map((chip) => (
        <button
          type="button"
          class="chip"
          key={chip.name}
          title="Take it away"
          onClick={() => {
            state.filters.change(chip.without);
          }}
        >
          {chip.words} <span aria-hidden="true">×</span>
        </button>
      ))}
      <span class="quiet">{shareWords(share(kept, whole))} of the recording. Shares below are of what is kept.</span>
    </p>
  );
}

function chipsOf({ filters, recording: { profile } }: PageState): Chip[] {
  const kept = filters.kept.value;
  const chips: (Chip | null)[] = [
    kept.layers === "both" ? null : { name: "layers", words: `${LAYER_WORDS[kept.layers]} only`, without: { layers: "both" } },
    kept.process === null ? null : { name: "process", words: `process ${profile.processes[kept.process]?.pid ?? "?"}`, without: { process: null } },
    kept.thread === null ? null : { name: "thread", words: profile.threads[kept.thread]?.name ?? "thread", without: { thread: null } },
    kept.foldsRecursion ? { name: "foldsRecursion", words: "recursion as one call", without: { foldsRecursion: false } } : null,
    kept.focus === "" ? null : { name: "focus", words: `stacks with ${kept.focus}`, without: { focus: "" } },
    kept.hide === "" ? null : { name: "hide", words: `without ${kept.hide}`, without: { hide: "" } },
    kept.time === null || profile.moments === null ? null : { name: "time", words: rangeWords(kept.time, profile.moments), without: { time: null } },
  ];
  return chips.filter((chip) => chip !== null);
}

/** A pattern to keep stacks by, or to take frames out by. */
function PatternInput({ state, name, words }: { state: PageState; name: "focus" | "hide"; words: string }): JSX.Element {
  const wrong = useSignal<string | null>(null);
  return (
    <label class="pattern">
      {words}
      <input
        type="text"
        placeholder="function or file, a pattern"
        data-pattern={name}
        value={state.filters.kept.value[name]}
        aria-invalid={wrong.value !== null}
        onChange={(event) => {
          wrong.value = state.filters.change({ [name]: event.currentTarget.value });
        }}
      />
      {wrong.value === null ? null : <span class="wrong" role="alert">not a pattern: {wrong.value}</span>}
    </label>
  );
}
