// The keyboard: one table for what the keys do and for the page that lists them.
import type { JSX, RefObject } from "preact";
import { batch } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Direction } from "../model/tree/layout";
import { ALL, LAYERS } from "../model/tables/kept";
import { weightsOf } from "../model/tables/totals";
import { copyText } from "./copy";
import type { PageState } from "./state/page-state";
import { orderOf, VIEWS } from "./state/view";
import type { Order, ViewName } from "./state/view";
import { VIEW_WORDS } from "./frame/tabs";

interface Binding {
  readonly keys: readonly string[];
  /** Where it is not the first of them. */
  readonly shown?: string;
  readonly does: string;
  /** Left alone while a button has the focus. */
  readonly ofTree?: boolean;
  readonly run: (state: PageState, event: KeyboardEvent, search: HTMLInputElement | null) => void;
}

const ARROWS: Readonly<Record<string, Direction>> = {
  ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right", Home: "first", End: "last",
};

export const BINDINGS: readonly Binding[] = [
  { keys: ["/"], does: "find a function, file or expression", run: (_, __, search) => { search?.focus(); search?.select(); } },
  { keys: ["n"], does: "next place found", run: (state) => { state.nextFound(1); } },
  { keys: ["N"], does: "the one before", run: (state) => { state.nextFound(-1); } },
  { keys: Object.keys(ARROWS), shown: "arrows, Home, End", does: "move in the call tree: up to the caller, down to the heaviest below, sideways", ofTree: true, run: (state, event) => { state.selection.walk(ARROWS[event.key] ?? "up"); } },
  { keys: ["Enter"], does: "zoom to the selected box", ofTree: true, run: (state) => { state.selection.zoomTo(state.selection.selected.value); } },
  { keys: ["Backspace"], does: "zoom out to the caller", run: (state) => { state.selection.zoomOut(); } },
  { keys: VIEWS.map((_, at) => `${at + 1}`), shown: `1 to ${VIEWS.length}`, does: `the views: ${VIEWS.map((name) => VIEW_WORDS[name]).join(", ")}`, run: (state, event) => { state.view.name.value = VIEWS[Number(event.key) - 1] ?? "where"; } },
  { keys: ["c"], does: "compare: what changed between two recordings", run: (state) => { state.view.name.value = "compare"; } },
  { keys: ["s"], does: "sandwich: callers and callees of the selected function", run: (state) => { state.view.name.value = "sandwich"; } },
  { keys: ["f"], does: "focus: keep the stacks with the selected function", run: (state) => { state.keep("focus"); } },
  { keys: ["x"], does: "take the selected function out; its time goes to its callers", run: (state) => { state.keep("hide"); } },
  { keys: ["i"], does: "upside down: what has time of its own, and below it its callers", run: (state) => { turn(state, "inverted", ["flame", "tree"]); } },
  { keys: ["o"], does: "the flame graph in the order of time, or the heaviest first", run: (state) => { turn(state, "time", ["flame"]); } },
  { keys: ["p"], does: "Python + C, Python, C", run: (state) => { state.filters.change({ layers: LAYERS[(LAYERS.indexOf(state.filters.kept.value.layers) + 1) % LAYERS.length] ?? "both" }); } },
  { keys: ["r"], does: "recursion as one call, or each depth", run: (state) => { state.filters.change({ foldsRecursion: !state.filters.kept.value.foldsRecursion }); } },
  { keys: ["y"], does: "copy path:line of the selected box, or its name", run: (state) => { void copyText(state.placeWords()); } },
  { keys: ["Y"], does: "copy the stack of the selected box, a call a line, the outermost first", run: (state) => { void copyText(state.stackWords()); } },
  { keys: ["w"], does: "next weight: CPU, wall, samples, copied and allocated bytes", run: (state) => { const weights = weightsOf(state.recording.profile); state.view.weight.value = weights[(weights.indexOf(state.view.weight.value) + 1) % weights.length] ?? "cpu"; } },
  { keys: ["t"], does: "light or dark", run: (state) => { state.view.switchTheme(); } },
  { keys: ["Escape"], shown: "Esc", does: "close, or forget what was searched, or take the filters away", run: (state) => { leave(state); } },
  { keys: ["?"], does: "these keys", run: (state) => { state.view.keysShown.value = true; } },
];

/** An order and back; in the first of its views, if the view that is shown has it not. */
function turn({ view }: PageState, order: Order, views: readonly [ViewName, ...ViewName[]]): void {
  batch(() => {
    const isThere = orderOf(view) === order;
    if (!views.includes(view.name.value)) view.name.value = views[0];
    view.order.value = isThere ? "heaviest" : order;
  });
}

/** Answers whether one was open. `target`: within, a menu stays open. */
function closeMenu(target: EventTarget | null = null): boolean {
  const menu = document.querySelector<HTMLDetailsElement>(".menu[open]");
  if (menu === null || (target instanceof Node && menu.contains(target))) return false;
  menu.open = false;
  return true;
}

function leave(state: PageState): void {
  // Beside the views the panel is always there: only as a sheet can it be closed.
  const isSheet = (document.querySelector<HTMLElement>("[data-panel] .sheet-handle")?.offsetParent ?? null) !== null;
  if (isSheet && state.view.panelShown.value) state.view.panelShown.value = false;
  else if (state.filters.query.value !== "") state.filters.query.value = "";
  else state.filters.change(ALL);
}

export function useKeys(state: PageState, search: RefObject<HTMLInputElement | null>): void {
  // Before the first picture: who sees the page may type.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || state.view.keysShown.value) return;
      // Also from within its fields.
      if (event.key === "Escape" && closeMenu()) return;
      const target = event.target instanceof HTMLElement ? event.target : document.body;
      if (target === search.current) {
        if (event.key === "Enter") state.nextFound(event.shiftKey ? -1 : 1);
        else if (event.key === "Escape") {
          state.filters.query.value = "";
          target.blur();
        }
        return;
      }
      const binding = BINDINGS.find((at) => at.keys.includes(event.key));
      const onButton = target.closest("button, summary, dialog") !== null;
      if (target.closest("input, select, textarea") !== null) return;
      if (binding === undefined || (binding.ofTree === true && onButton)) return;
      event.preventDefault();
      binding.run(state, event, search.current);
    };
    const onPointer = ({ target }: Event): void => {
      closeMenu(target);
    };
    window.addEventListener("keydown", onKey);
    window.addEventListener("pointerdown", onPointer);
    return () => {
      window.removeEventListener("keydown", onKey);
      window.removeEventListener("pointerdown", onPointer);
    };
  }, [state, search]);
}

export function KeysDialog({ state }: { state: PageState }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const shown = state.view.keysShown.value;
  // At once: the next key may be the one that closes it.
  useLayoutEffect(() => {
    if (shown) dialog.current?.showModal();
    else dialog.current?.close();
  }, [shown]);
  return (
    <dialog
      ref={dialog}
      aria-label="Keys"
      onClose={() => {
        state.view.keysShown.value = false;
      }}
    >
      <h2>Keys</h2>
      <dl>
        {BINDINGS.map((binding) => (
          <div key={binding.does}>
            <dt>
              <kbd>{binding.shown ?? binding.keys[0]}</kbd>
            </dt>
            <dd>{binding.does}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button type="submit" class="plain">Close</button>
      </form>
    </dialog>
  );
}
