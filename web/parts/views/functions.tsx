// A table of what each expression, line, function, file, kind of code or source of C names weighs, wherever it stands.
import { useComputed, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { GROUPINGS, groupRows } from "../../model/groups";
import type { Grouping, GroupRow } from "../../model/groups";
import { placeOf, share, weightOf, ROOT } from "../../model/tree/tree";
import type { Place } from "../../model/tree/tree";
import type { Weighed, Weight } from "../../model/units";
import { fileName } from "../../model/tables/file-names";
import { exactWords, originName, ownerName, placeWhere, shareWords, WEIGHT_WORDS, weightWords } from "../../model/words";
import { Segments } from "../frame/buttons";
import { More } from "../more";
import type { PageState } from "../state/page-state";
import { SORTS } from "../state/view";

const ROWS_FIRST = 200;
const GROUPING_WORDS: Readonly<Record<Grouping, string>> = { expression: "Expression", line: "Line", function: "Function", file: "File", owner: "Whose code", origin: "Source of C names" };

/** Of groups that are more than one place. */
const NAME_OF: Partial<Readonly<Record<Grouping, (key: string) => string>>> = { owner: ownerName, origin: originName };

/** `by`: fixed, without the switch. */
export function Functions({ state, by: fixed }: { state: PageState; by?: Grouping }): JSX.Element {
  const { view } = state;
  const shown = useSignal(ROWS_FIRST);
  const chosen = useComputed(() => fixed ?? view.by.value);
  const order = useComputed(() => view.sort.value[view.name.value] ?? (fixed === undefined ? "self" : "total"));
  const rows = useComputed(() => {
    const weight = view.weight.value;
    const found = groupRows(state.filters.tree.value, chosen.value, weight).filter((row) => row.total[weight] > 0);
    return found.sort((a, b) => b[order.value][weight] - a[order.value][weight] || b.total[weight] - a.total[weight]);
  });
  const more = rows.value.length - shown.value;
  return (
    <section class="table-view" aria-label={fixed === undefined ? "Functions" : "Where it goes, of what is kept"}>
      {fixed === undefined ? (
        <Segments
          label="Rows are"
          all={GROUPINGS}
          words={GROUPING_WORDS}
          chosen={chosen.value}
          attribute="data-by"
          choose={(grouping) => {
            view.by.value = grouping;
            shown.value = ROWS_FIRST;
          }}
        />
      ) : null}
      <table>
        <thead>
          <tr>
            {SORTS.map((column) => (
              <th key={column} scope="col" aria-sort={order.value === column ? "descending" : "none"}>
                <button
                  type="button"
                  data-sort={column}
                  onClick={() => {
                    view.sort.value = { ...view.sort.value, [view.name.value]: column };
                  }}
                >
                  {WEIGHT_WORDS[view.weight.value]} {column}
                </button>
              </th>
            ))}
            <th scope="col" class="name">{GROUPING_WORDS[chosen.value]}</th>
          </tr>
        </thead>
        <tbody>
          {rows.value.slice(0, shown.value).map((row) => (
            <Row key={row.key} state={state} row={row} by={chosen.value} />
          ))}
        </tbody>
      </table>
      {rows.value.length === 0 ? <p class="quiet">Nothing of this kind was seen in this weight.</p> : null}
      <More count={more} one="row" onMore={() => { shown.value += 10 * ROWS_FIRST; }} />
    </section>
  );
}

function Row({ state, row, by }: { state: PageState; row: GroupRow; by: Grouping }): JSX.Element {
  const weight = state.view.weight.value;
  const { tree } = state.filters;
  const place = placeOf(tree.value, row.box);
  const on = tree.value.place[row.box] === tree.value.place[state.selection.selected.value];
  return (
    <tr
      class={on ? "on" : undefined}
      data-row
      onClick={() => {
        state.showBox(row.box);
      }}
    >
      <Figure state={state} row={row} column="total" weight={weight} />
      <Figure state={state} row={row} column="self" weight={weight} />
      <td class="name">
        <button type="button">{by === "file" ? fileOf(place, row.key) : NAME_OF[by]?.(row.key) ?? (by === "line" ? placeWhere(place) : state.nameOf(row.box))}</button>
        <span class="where">{by === "owner" ? "" : by === "origin" ? `mostly ${state.nameOf(row.box)}` : by === "file" ? row.key : placeWhere(place)}</span>
      </td>
    </tr>
  );
}

function Figure({ state, row, column, weight }: { state: PageState; row: GroupRow; column: "total" | "self"; weight: Weight }): JSX.Element {
  const value = row[column][weight] as Weighed;
  const whole = weightOf(state.filters.tree.value.total, ROOT, weight);
  return (
    <td data-figure={column} title={exactWords(value, weight)}>
      <b>{shareWords(share(value, whole))}</b> {weightWords(value, weight)}
    </td>
  );
}

/** Where no source is known, the library. */
function fileOf(place: Place, key: string): string {
  return ("frame" in place ? place.frame.fileName : null) ?? fileName(key);
}
