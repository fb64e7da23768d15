// The table of figures of one box: here and everywhere, in all weights. Exact numbers in the title of each cell.
import type { JSX } from "preact";
import { weightsOf } from "../model/tables/totals";
import { share, weightOf, ROOT } from "../model/tree/tree";
import type { BoxIndex, Weighed, Weight } from "../model/units";
import { exactWords, shareWords, weightWords } from "../model/words";
import type { PageState } from "./state/page-state";

const ROWS: readonly (readonly [string, Weight, "total" | "self"])[] = [
  ["CPU total", "cpu", "total"],
  ["CPU self", "cpu", "self"],
  ["Wall total", "wall", "total"],
  ["Wall self", "wall", "self"],
  ["Copied", "copied", "total"],
  ["Allocated", "allocated", "total"],
  ["Samples", "samples", "total"],
  ["Samples self", "samples", "self"],
];

export function Figures({ state, box }: { state: PageState; box: BoxIndex }): JSX.Element {
  const tree = state.selection.tree.value;
  const everywhere = state.everywhere(box);
  const weight = state.view.weight.value;
  const whole = weightOf(tree.total, ROOT, weight);
  const told = weightsOf(state.recording.profile);
  return (
    <table class="figures">
      <thead>
        <tr>
          <th />
          <th scope="col">here</th>
          <th scope="col">everywhere</th>
        </tr>
      </thead>
      <tbody>
        <tr class="share">
          <th scope="row">Share</th>
          <td data-figure="share-here">{shareWords(share(weightOf(tree.total, box, weight), whole))}</td>
          <td data-figure="share-everywhere">{shareWords(share(everywhere.total[weight], whole))}</td>
        </tr>
        {ROWS.filter(([, of]) => told.includes(of)).map(([name, of, sum]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <Figure name={`${name} here`} value={weightOf(tree[sum], box, of)} weight={of} />
            <Figure name={`${name} everywhere`} value={everywhere[sum][of] as Weighed} weight={of} />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Figure({ name, value, weight }: { name: string; value: Weighed; weight: Weight }): JSX.Element {
  return <td data-figure={name} title={exactWords(value, weight)}>{weightWords(value, weight)}</td>;
}
