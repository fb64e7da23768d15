// The views as tabs; what is kept, as chips.
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Kept } from "../../model/tables/kept";
import { share } from "../../model/tree/tree";
import { shareWords } from "../../model/words";
import { weightOfAll } from "../../model/tables/totals";
import type { PageState } from "../state/page-state";
import { isCompared, SideSwitch } from "./compare-frame";
import { VIEWS } from "../state/view";
import { rangeWords } from "./strip";
import { LAYER_WORDS, Switches } from "./switches";
import type { ViewName } from "../state/view";

export const VIEW_WORDS: Readonly<Record<ViewName, string>> = {
  where: "Where", flame: "Flame", tree: "Tree", sandwich: "Sandwich", source: "Source", functions: "Functions", threads: "Threads", memory: "Memory", gc: "GC", compare: "Compare",
};

export function Tabs({ state }: { state: PageState }): JSX.Element {
  const { view } = state;
  // On a page of two recordings what changed comes first.
  const shown: readonly ViewName[] = state.comparison === null ? [...VIEWS, "compare"] : ["compare", ...VIEWS];
  const list = useRef<HTMLSpanElement>(null);
  const name = view.name.value;
  // On a narrow screen the list scrolls, and a key or an address may choose a tab that is out of sight.
  useLayoutEffect(() => {
    list.current?.querySelector(`[data-view=${name}]`)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [name]);
  return (
    <nav class="tabs" aria-label="Views">
      <span ref={list} class="tab-list" role="tablist">
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
      {isCompared(state) ? null : <Switches state={state} />}
    </nav>
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
    <p class="chips" aria-label="Kept">
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
