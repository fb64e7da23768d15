// The call tree as a table: whole paths, total and self in both clocks, opened by mouse or keys.
import { batch, useComputed, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { parentOf, pathTo, placeOf, ROOT, shareOf, weightOf } from "../../model/tree/tree";
import { flattened } from "../../model/tree/tree-rows";
import type { BoxIndex, Px, Weight } from "../../model/units";
import { exactWords, placeWhere, shareWords, weightWords } from "../../model/words";
import type { PageState } from "../state/page-state";

const COLUMNS: readonly (readonly [Weight, "total" | "self"])[] = [["cpu", "total"], ["cpu", "self"], ["wall", "total"], ["wall", "self"], ["samples", "total"]];
/** Of a weight without columns those of the first are shown where there is no room for all. */
const isOther = (weight: Weight, chosen: Weight): boolean => weight !== (COLUMNS.some(([at]) => at === chosen) ? chosen : "cpu");
const ROW_PX = 24;
const SPARE_ROWS = 10;

export function TreeView({ state }: { state: PageState }): JSX.Element {
  const { selection, view } = state;
  const scroller = useRef<HTMLDivElement>(null);
  const top = useSignal(0 as Px);
  const height = useSignal(600 as Px);
  // The way to the selected row is open where nobody closed it.
  const wayDown = useComputed(() => new Set(pathTo(selection.tree.value, selection.selected.value).slice(0, -1)));
  const isOpen = (box: BoxIndex): boolean => selection.turned.value.get(box) ?? (box === ROOT || wayDown.value.has(box));
  // In a weight without such a column by its total.
  const order = useComputed(() => COLUMNS.find(([weight, sum]) => weight === view.weight.value && sum === view.sort.value[view.name.value])?.[1] ?? "total");
  const rows = useComputed(() => flattened(selection.tree.value, view.weight.value, isOpen, order.value));
  const turn = selection.turnRow;
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    height.value = element.clientHeight as Px;
    element.focus();
  }, [height]);
  const selectedAt = rows.value.indexOf(selection.selected.value);
  // With the rows, not with the next frame: the key that follows is theirs already.
  useLayoutEffect(() => {
    const element = scroller.current;
    // What a head did is seen in the rows, and there the arrows go on.
    if (document.querySelector(".tree-head :focus")) element?.focus();
    if (!element || selectedAt < 0) return;
    const y = selectedAt * ROW_PX;
    if (y < element.scrollTop || y > element.scrollTop + element.clientHeight - 3 * ROW_PX) element.scrollTop = Math.max(0, y - element.clientHeight / 2);
  }, [rows.value, selectedAt]);
  const onKey = (event: KeyboardEvent): void => {
    const box = selection.selected.value;
    const at = rows.value.indexOf(box);
    const open = isOpen(box) && selection.tree.value.childrenOf(box, view.weight.value).length > 0;
    const to: Readonly<Record<string, () => void>> = {
      ArrowDown: () => { selection.select(rows.value[at + 1] ?? box); },
      ArrowUp: () => { selection.select(rows.value[at - 1] ?? box); },
      Home: () => { selection.select(ROOT); },
      End: () => { selection.select(rows.value.at(-1) ?? box); },
      ArrowRight: () => { if (open) selection.select(rows.value[at + 1] ?? box); else turn(box, true); },
      ArrowLeft: () => { if (open) turn(box, false); else selection.select(parentOf(selection.tree.value, box)); },
      Enter: () => { turn(box, !isOpen(box)); },
    };
    const run = to[event.key];
    if (run === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    run();
  };
  const first = Math.max(0, Math.floor(top.value / ROW_PX) - SPARE_ROWS);
  const shown = rows.value.slice(first, Math.ceil((top.value + height.value) / ROW_PX) + SPARE_ROWS);
  return (
    <section class="tree-view" aria-label="Call tree">
      <div class="tree-head tree-row" role="group" aria-label="Rows by">
        <span>total</span>
        {COLUMNS.map(([weight, sum]) => (
          <span key={weight + sum} class={isOther(weight, view.weight.value) ? "other" : undefined}>
            <button
              type="button"
              data-sort={`${weight} ${sum}`}
              aria-pressed={view.weight.value === weight && order.value === sum}
              onClick={() => {
                batch(() => {
                  view.weight.value = weight;
                  view.sort.value = { ...view.sort.value, [view.name.value]: sum };
                });
              }}
            >
              {weight === "cpu" ? "CPU" : weight}{sum === "self" ? " self" : ""}
            </button>
          </span>
        ))}
        <span class="name">function</span>
      </div>
      <div
        ref={scroller}
        class="tree-scroll"
        role="tree"
        tabIndex={0}
        data-tree
        aria-label="Call tree. Arrows move, right opens, left closes."
        aria-activedescendant={`row-${selection.selected.value}`}
        onKeyDown={onKey}
        onScroll={(event) => {
          top.value = event.currentTarget.scrollTop as Px;
          height.value = event.currentTarget.clientHeight as Px;
        }}
      >
        <div class="tree-rows" role="presentation" style={{ height: `${rows.value.length * ROW_PX}px`, paddingTop: `${first * ROW_PX}px` }}>
          {shown.map((box) => (
            <TreeRow key={box} state={state} box={box} open={isOpen(box)} turn={turn} />
          ))}
        </div>
      </div>
    </section>
  );
}

function TreeRow({ state, box, open, turn }: { state: PageState; box: BoxIndex; open: boolean; turn: (box: BoxIndex, open: boolean) => void }): JSX.Element {
  const { selection, view } = state;
  const tree = selection.tree.value;
  const { depth } = tree;
  const children = tree.childrenOf(box, view.weight.value).length;
  return (
    <div
      id={`row-${box}`}
      class={selection.selected.value === box ? "tree-row on" : "tree-row"}
      role="treeitem"
      aria-level={(depth[box] ?? 0) + 1}
      aria-selected={selection.selected.value === box}
      aria-expanded={children > 0 ? open : undefined}
      onClick={() => {
        selection.select(box);
      }}
      onDblClick={() => {
        turn(box, !open);
      }}
    >
      <span><b>{shareWords(shareOf(tree, box, view.weight.value))}</b></span>
      {COLUMNS.map(([weight, sum]) => {
        const value = weightOf(tree[sum], box, weight);
        return <span key={weight + sum} class={isOther(weight, view.weight.value) ? "other" : undefined} title={exactWords(value, weight)}>{weightWords(value, weight)}</span>;
      })}
      <span class="name" style={{ "--depth": depth[box] ?? 0 }}>
        <button
          type="button"
          class="turn"
          tabIndex={-1}
          aria-hidden="true"
          onClick={(event) => {
            event.stopPropagation();
            turn(box, !open);
          }}
        >
          {children === 0 ? "" : open ? "▾" : "▸"}
        </button>
        {state.nameOf(box)} <span class="where">{placeWhere(placeOf(tree, box))}</span>
      </span>
    </div>
  );
}
