// Which stacks and frames are shown, and in which order: switches where there is room, and the menu of the filters.
import type { JSX } from "preact";
import { useSignal } from "@preact/signals";
import { forkTree } from "../../model/processes";
import { LAYERS } from "../../model/tables/kept";
import type { Layers } from "../../model/tables/kept";
import type { ProcessIndex, ThreadIndex } from "../../model/units";
import { processWords } from "../../model/words";
import type { PageState } from "../state/page-state";
import { orderOf, ORDERS_OF } from "../state/view";
import type { Order } from "../state/view";
import { Segments } from "./buttons";
import { useNarrow } from "./narrow";

export const LAYER_WORDS: Readonly<Record<Layers, string>> = { both: "Python + C", python: "Python", c: "C" };
/** Up to this width there is no room for switches. */
const MENU = "(max-width: 1399px)";
const ORDER_WORDS: Readonly<Record<Order, string>> = { heaviest: "Heaviest first", time: "In time", inverted: "Inverted" };

/** Which stacks and frames are shown, and how: as switches where there is room, else in the menu with the filters. */
export function Switches({ state }: { state: PageState }): JSX.Element {
  const { filters } = state;
  const isNarrow = useNarrow(MENU);
  const switches = (
    <>
      <Orders state={state} />
      <Segments
        label="Frames"
        all={LAYERS}
        words={LAYER_WORDS}
        chosen={filters.kept.value.layers}
        attribute="data-layers"
        choose={(layers) => {
          filters.change({ layers });
        }}
      />
    </>
  );
  return (
    <>
      <details class="menu" data-filter>
        <summary>{isNarrow.value ? "Show" : "Filter"}</summary>
        <div>
          {isNarrow.value ? switches : null}
          <Owners state={state} />
          <PatternInput state={state} name="focus" words="Keep stacks with" />
          <PatternInput state={state} name="hide" words="Take out" />
          <label>
            <input
              type="checkbox"
              checked={filters.kept.value.foldsRecursion}
              onChange={({ currentTarget: { checked } }) => {
                filters.change({ foldsRecursion: checked });
              }}
            />{" "}
            Recursion as one call
          </label>
        </div>
      </details>
      {isNarrow.value ? null : switches}
    </>
  );
}

/** In which order the boxes of the view stand: only where there is a choice. */
function Orders({ state: { view, recording } }: { state: PageState }): JSX.Element | null {
  const orders = ORDERS_OF[view.name.value]?.filter((order) => order !== "time" || recording.profile.moments !== null) ?? [];
  return orders.length < 2 ? null : (
    <Segments
      label="Order"
      all={orders}
      words={ORDER_WORDS}
      chosen={orderOf(view)}
      attribute="data-order"
      choose={(order) => {
        view.order.value = order;
      }}
    />
  );
}

/** A list of options keeps no other space. */
const INDENT = "\u00a0\u00a0\u00a0";

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
          {forkTree(processes).map(({ process, depth }) => {
            const row = processes[process];
            return row === undefined ? null : <option key={process} value={process}>{INDENT.repeat(depth) + processWords(row)}</option>;
          })}
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

/** A pattern to keep stacks by, or to take frames out by. */
function PatternInput({ state, name, words }: { state: PageState; name: "focus" | "hide"; words: string }): JSX.Element {
  const wrong = useSignal<string | null>(null);
  return (
    <label class="pattern">
      {words}
      <input
        type="text"
        placeholder="function or file"
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
