// What changed between two recordings: the answer in a sentence, each change with its interval, and the call trees of both as one.
// Never: computes, or leaves out what the samples cannot tell.
import { useComputed } from "@preact/signals";
import type { Signal } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { barOf, boxBeside, pathOf, placedBoxes, toneOf } from "../../model/changes";
import type { Tone } from "../../model/changes";
import { flagsOf, flagWords, quoted } from "../../model/shell";
import type { Flag } from "../../model/shell";
import type { ChangedRow, Estimate } from "../../model/tables/comparison";
import { beside, binCount } from "../../model/tables/moments";
import type { Range } from "../../model/tables/moments";
import { plural } from "../../model/words";
import type { ComparisonState } from "../state/comparison";
import type { PageState } from "../state/page-state";

const ROWS_MAX = 12;
const ROWS_MIN = 3;

/** The kept range beside its neighbour of the same length, the earlier one first, as flags of `genba html`. Null: no range, or no room for two. */
function timesToCompare({ filters, recording: { profile } }: PageState): Flag[] | null {
  const { moments } = profile;
  const { time } = filters.kept.value;
  if (moments === null || time === null) return null;
  const pair = beside(time, binCount(moments));
  if (pair === null) return null;
  const words = ({ first, end }: Range): string => `${(first * moments.binLength) / 1e6}ms..${(end * moments.binLength) / 1e6}ms`;
  return [["before-time", words(pair[0])], ["after-time", words(pair[1])], ...flagsOf(filters.kept.value, profile)];
}

/** What is done with two times: `genba view` compares them behind an address (crates/page); a page that is a file says the command. */
function Times({ state, times }: { state: PageState; times: readonly Flag[] }): JSX.Element {
  const address = document.body.dataset["times"];
  const query = new URLSearchParams(times.map(([flag, value]) => [flag, value])).toString();
  return (
    <>
      The time that is kept, and as much before or after it: {address === undefined ? null : <><a class="link" href={`${address}&${query}`}>compare them</a>, or </>}
      <code>genba html{flagWords(times)} {quoted(state.recording.profile.meta.recording ?? "FILE")}</code>
    </>
  );
}

export function CompareView({ state, onPainted }: { state: PageState; onPainted: () => void }): JSX.Element {
  useLayoutEffect(onPainted, [onPainted]);
  const { comparison, view: { lists } } = state;
  if (comparison === null) {
    const times = timesToCompare(state);
    return (
      <>
        <p class="absent">
          This page holds one recording. <code>genba html before.genba after.genba</code> writes a page that compares two, and <code>genba diff</code> says the same in the terminal.
        </p>
        <p class="absent">
          {times === null ? "Drag over at most half of the strip above: how that time is compared with as much before it stands here then." : <Times state={state} times={times} />}
        </p>
      </>
    );
  }
  const { data } = comparison;
  return (
    <section class="compare" aria-label="What changed">
      <p class="compare-verdict">{data.verdict}</p>
      <Rows words={data.counts} rows={data.rows} name="rows" isWhole={lists.changes} />
      <Changes state={comparison} />
      {data.functions.length === 0 ? null : <Rows words="functions, each with all its expressions" rows={data.functions} name="functions" isWhole={lists.functions} />}
      <div class="compare-notes">
        {[...data.notes, data.boxesNote].map((note) => (
          <p key={note}>{note}</p>
        ))}
      </div>
    </section>
  );
}

function Rows({ words, rows, name, isWhole }: { words: string; rows: readonly ChangedRow[]; name: string; isWhole: Signal<boolean> }): JSX.Element {
  const certain = rows.filter((row) => row.certain).length;
  const compared = rows.filter((row) => !row.tooFew).length;
  // Certain ones come first, then those that were compared.
  const shown = isWhole.value ? rows : rows.slice(0, Math.max(ROWS_MIN, certain, Math.min(ROWS_MAX, compared)));
  const folded = rows.slice(shown.length);
  const few = folded.filter((row) => row.tooFew).length;
  return (
    <table class="changes" aria-label={words} data-changes={name}>
      <caption>{words}</caption>
      <thead>
        <tr>
          <th scope="col">B − A</th>
          <th scope="col" class="change-bar" />
          <th scope="col" class="interval">interval</th>
          <th scope="col">A</th>
          <th scope="col">B</th>
          <th scope="col" class="name">expression</th>
        </tr>
      </thead>
      <tbody>
        {shown.map((row, at) => (
          <tr key={at} class={`change-${toneOf(row)}`}>
            <td><b>{row.change}</b></td>
            <td class="change-bar"><ChangeBar estimate={row} all={rows} /></td>
            <td class="interval">{row.interval}</td>
            <td data-side-of="A">{row.before}</td>
            <td data-side-of="B">{row.after}</td>
            <td class="name">
              <code>{row.expression ?? row.name}</code> {row.expression === null ? null : <span class="where">{row.name}</span>}{" "}
              {row.remark === "" ? null : <span class="remark">{row.remark}</span>}
            </td>
          </tr>
        ))}
      </tbody>
      {folded.length === 0 ? null : (
        <tfoot>
          <tr>
            <td colSpan={6}>
              <button
                type="button"
                class="link"
                data-more
                onClick={() => {
                  isWhole.value = true;
                }}
              >
                {plural(folded.length, "more row")}
              </button>{" "}
              <span class="quiet">
                none is certain{few === 0 ? "" : `; ${plural(few, "has", "have")} too few samples`}
              </span>
            </td>
          </tr>
        </tfoot>
      )}
    </table>
  );
}

/** Certain: a bar from zero, its end with the interval. Else the interval alone, hatched. */
function ChangeBar({ estimate, all }: { estimate: Estimate; all: readonly Estimate[] }): JSX.Element | null {
  const bar = barOf(estimate, all);
  if (bar === null) return null;
  const [left, right] = [Math.min(bar.zero, bar.change), Math.max(bar.zero, bar.change)];
  return (
    <span class="bar-room" aria-hidden="true">
      {estimate.certain ? <i class={`bar-change tone-${toneOf(estimate)}`} style={span(left, right)} /> : null}
      <i class={estimate.certain ? "bar-interval" : "bar-interval hatched"} style={span(bar.low, bar.high)} />
      <i class="bar-zero" style={{ "--left": `${bar.zero * 100}%` }} />
    </span>
  );
}

function span(left: number, right: number): Record<string, string> {
  return { "--left": `${left * 100}%`, "--width": `${(right - left) * 100}%` };
}

const LEGEND: readonly [Tone, string][] = [["more", "+ more in B"], ["less", "− less in B"], ["open", "the samples cannot tell"], ["few", "too little to compare"]];

/** The call trees of both sides as one. Arrows move, Enter or a click zooms, Backspace goes to the caller. */
function Changes({ state }: { state: ComparisonState }): JSX.Element {
  const { boxes } = state.data;
  const tree = useRef<HTMLDivElement>(null);
  const placed = useComputed(() => placedBoxes(boxes, state.zoom.value));
  const rows = placed.value.reduce((most, box) => Math.max(most, box.depth), 0) + 1;
  const zoomTo = (box: number): void => {
    state.zoom.value = box;
    state.focused.value = box;
  };
  const onKey = (event: KeyboardEvent): void => {
    const here = state.focused.value;
    if (event.key === "Enter" || event.key === " ") zoomTo(here);
    else if (event.key === "Backspace") zoomTo(boxes[state.zoom.value]?.parent ?? 0);
    else {
      const next = boxBeside(boxes, here, event.key);
      if (next === here) return;
      if (!placed.value.some(({ at }) => at === next)) state.zoom.value = boxes[next]?.parent ?? 0;
      state.focused.value = next;
      // As soon as its box is there: what had the focus may be gone, and the next key would be nobody's.
      queueMicrotask(() => tree.current?.querySelector<HTMLElement>(`[data-at="${next}"]`)?.focus());
    }
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <>
      <p class="changes-legend">
        {LEGEND.map(([tone, words]) => (
          <span key={tone}><i class={`swatch tone-${tone}`} />{words}</span>
        ))}
        <span class="quiet">widths: the larger of A and B</span>
      </p>
      <div ref={tree} class="change-tree" role="tree" aria-label="Call trees of A and B" style={{ "--rows": `${rows}` }} onKeyDown={onKey}>
        {placed.value.map(({ at, depth, left, width }) => {
          const box = boxes[at];
          if (box === undefined) return null;
          const told = `${box.change}${box.name === "" ? "" : ` ${box.name}`}`;
          const words = [box.name, box.place, `${box.before} → ${box.after}`, `${box.change}${box.tooFew ? "" : ` (${box.interval})`}`, box.remark];
          return (
            <button
              type="button"
              key={at}
              role="treeitem"
              class={`change-box tone-${toneOf(box)}`}
              aria-level={depth + 1}
              aria-selected={state.zoom.value === at}
              aria-label={words.filter((part) => part !== "").join(", ")}
              title={words.filter((part) => part !== "").join("\n")}
              tabIndex={state.focused.value === at ? 0 : -1}
              style={{ "--left": `${left * 100}%`, "--width": `${width * 100}%`, "--depth": `${depth}` }}
              data-at={at}
              data-tone={toneOf(box)}
              onClick={() => {
                zoomTo(at);
              }}
            >
              <span>{told === box.change ? <b>{box.change}</b> : <><b>{box.change}</b> {box.name}</>}{box.remark.startsWith("only") ? <i> {box.remark}</i> : null}</span>
            </button>
          );
        })}
      </div>
      <Zoomed state={state} />
    </>
  );
}

/** The chosen box in words, with the way to it. */
function Zoomed({ state: { data: { boxes }, zoom } }: { state: ComparisonState }): JSX.Element | null {
  const box = boxes[zoom.value];
  if (box === undefined) return null;
  return (
    <p class="change-chosen" aria-live="polite">
      <code>{pathOf(boxes, zoom.value).map((at) => boxes[at]?.name ?? "").join(" › ")}</code>{" "}
      {box.place === "" ? null : <span class="where">{box.place}</span>} A {box.before} · B {box.after} · <b>{box.change}</b>
      {box.tooFew ? null : <> ({box.interval})</>} {box.remark === "" ? null : <span class="remark">{box.remark}</span>}
    </p>
  );
}
