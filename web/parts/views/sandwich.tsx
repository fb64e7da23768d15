// One function in the middle: above it all that leads to it, below it all that it calls, merged over all places where it stands.
import { useComputed, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { countsCalls } from "../../model/tables/totals";
import { functionOf, heaviest } from "../../model/tree/everywhere";
import { sandwich } from "../../model/tree/sandwich";
import { CALLERS_MAX, oddest, splitOf } from "../../model/tree/split";
import type { Split, SplitRow } from "../../model/tree/split";
import { placeOf, ROOT, share, weightOf } from "../../model/tree/tree";
import type { Tree } from "../../model/tree/tree";
import type { BoxIndex, PlaceIndex, Weighed } from "../../model/units";
import { placeName, placeWhere, plural, shareWords, WEIGHT_WORDS, weightWords } from "../../model/words";
import { Icicle } from "../icicle/icicle";
import type { PageState } from "../state/page-state";
import { whyEmpty } from "../icicle/picture";
import type { Picture } from "../icicle/picture";
import type { Hover } from "../state/selection";

/** More callees than these have no room beside each other. */
const COLUMNS_MAX = 4;

export function SandwichView({ state }: { state: PageState }): JSX.Element {
  const { view, filters, selection, recording: { profile } } = state;
  const place = useComputed(() => {
    const box = functionOf(filters.tree.value, selection.selected.value);
    return (filters.tree.value.place[box] ?? 0) as PlaceIndex;
  });
  const halves = useComputed(() => sandwich(filters.tree.value, place.value, countsCalls(profile)));
  const split = useComputed(() => (countsCalls(profile) ? null : splitOf(filters.tree.value, halves.value.everywhere, view.weight.value, COLUMNS_MAX)));
  const none = useSignal(null);
  const root = useSignal(ROOT);
  const hover = useSignal<Hover | null>(null);
  const hovered = useComputed(() => hover.value?.shows ?? null);
  const [callers, callees] = [useComputed(() => halves.value.callers), useComputed(() => halves.value.callees)];
  const names = { title: profile.meta.title ?? "the program", processes: profile.processes, threads: profile.threads };
  const picture = (tree: Picture["tree"], upwards: boolean, label: string): Picture => {
    const nameOf = (box: BoxIndex): string => placeName(placeOf(tree.value, box), names);
    /** Another function becomes the middle. */
    const pick = (box: BoxIndex): void => {
      const wanted = tree.value.place[box];
      const there = heaviest(filters.tree.value, view.weight.value, (at) => at === wanted);
      if (wanted !== place.value && there !== null) selection.show(there);
    };
    return { tree, upwards, label, nameOf, pick, hover, hovered, weight: view.weight, theme: view.theme, zoom: root, selected: root, found: none, whyEmpty: () => whyEmpty(state) };
  };
  const of = placeName(placeOf(callees.value, ROOT), names);
  const weighs = (tree: { readonly value: Tree }, box = ROOT): Weighed => weightOf(tree.value.total, box, view.weight.value);
  const direct = callers.value.childrenOf(ROOT, view.weight.value);
  if (place.value === 0) return <p class="absent">Select a function: what calls it stands above, what it calls below.</p>;
  return (
    <section class="sandwich" aria-label="Sandwich">
      <Icicle picture={picture(callers, true, "Callers")} />
      <p class="middle">
        <b>{of}</b> {shareWords(share(weighs(callees), weighs(filters.tree)))} · {plural(direct.length, "caller")}
        {direct.slice(0, 3).map((box) => ` · ${placeName(placeOf(callers.value, box), names)} ${shareWords(share(weighs(callers, box), weighs(callers)))}`)}
      </p>
      <Icicle picture={picture(callees, false, "Callees")} />
      {hover.value?.shows.kind === "box" ? <p class="under quiet" aria-hidden="true">{placeName(placeOf(callees.value, hover.value.shows.box), names)}</p> : null}
      {split.value === null || split.value.rows.length < 2 ? null : <SplitTable state={state} split={split.value} of={of} />}
    </section>
  );
}

/** What the merged picture cannot show. */
function SplitTable({ state, split, of }: { state: PageState; split: Split; of: string }): JSX.Element {
  const { columns, rows, all } = split;
  const weight = state.view.weight.value;
  const tree = state.filters.tree.value;
  const heads = [...columns.map((box) => state.nameOf(box, tree)), "itself", "other calls"];
  const shown = heads.map((head, part) => ({ head, part })).filter(({ part }) => (all.parts[part] ?? 0) > 0);
  const odd = oddest(split);
  const words = (row: SplitRow, part: number): string => shareWords(share(row.parts[part] ?? 0, row.weight));
  const figures = (row: SplitRow): JSX.Element => (
    <>
      <td>{weightWords(row.weight as Weighed, weight)}</td>
      {shown.map(({ part }) => (
        <td key={part} class={odd?.row === row && odd.part === part ? "odd" : undefined} style={{ "--share": `${share(row.parts[part] ?? 0, row.weight) * 100}%` }}>{words(row, part)}</td>
      ))}
    </>
  );
  return (
    <div class="table-view split">
      <p>
        <b>{odd === null ? "The split by caller" : `The split differs by caller: under ${state.nameOf(odd.row.caller, tree)}, ${words(odd.row, odd.part)} is ${odd.part === columns.length ? "its own" : (heads[odd.part] ?? "")}`}</b>{" "}
        <span class="quiet">Shares of each caller's time in {of}.</span>
      </p>
      <table>
        <thead>
          <tr>
            <th scope="col" class="name">caller</th>
            <th scope="col">{WEIGHT_WORDS[weight]}</th>
            {shown.map(({ head, part }) => <th key={part} scope="col">{head}</th>)}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, CALLERS_MAX).map((row) => (
            <tr
              key={row.caller}
              onClick={() => {
                state.selection.showCall(row.caller);
              }}
            >
              <td class="name"><button type="button">{state.nameOf(row.caller, tree)}</button> <span class="where">{placeWhere(placeOf(tree, row.caller))}</span></td>
              {figures(row)}
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <td class="name">all {plural(rows.length, "caller")}</td>
            {figures(all)}
          </tr>
        </tfoot>
      </table>
    </div>
  );
}
