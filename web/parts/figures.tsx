// The table of figures of one box: here and everywhere, in all weights. Exact numbers in the title of each cell.
import type { JSX } from "preact";
import { weightsOf } from "../model/tables/totals";
import { cpuOf, samplesOf, share, wallOf, weightOf, ROOT } from "../model/tree/tree";
import type { BoxIndex, Count, Ns } from "../model/units";
import { bytesWords, countWords, grouped, exactTime, shareWords, timeWords } from "../model/words";
import type { PageState } from "./state/page-state";

export function Figures({ state, box }: { state: PageState; box: BoxIndex }): JSX.Element {
  const tree = state.selection.tree.value;
  const everywhere = state.everywhere(box);
  const weight = state.view.weight.value;
  const whole = weightOf(tree.total, ROOT, weight);
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
        <TimeRow name="CPU total" here={cpuOf(tree.total, box)} there={everywhere.total.cpu as Ns} />
        <TimeRow name="CPU self" here={cpuOf(tree.self, box)} there={everywhere.self.cpu as Ns} />
        <TimeRow name="Wall total" here={wallOf(tree.total, box)} there={everywhere.total.wall as Ns} />
        <TimeRow name="Wall self" here={wallOf(tree.self, box)} there={everywhere.self.wall as Ns} />
        {weightsOf(state.recording.profile).includes("copied") ? <BytesRow name="Copied" here={weightOf(tree.total, box, "copied")} there={everywhere.total.copied} /> : null}
        {weightsOf(state.recording.profile).includes("allocated") ? <BytesRow name="Allocated" here={weightOf(tree.total, box, "allocated")} there={everywhere.total.allocated} /> : null}
        <CountRow name="Samples" here={samplesOf(tree.total, box)} there={everywhere.total.samples as Count} />
        <CountRow name="Samples self" here={samplesOf(tree.self, box)} there={everywhere.self.samples as Count} />
      </tbody>
    </table>
  );
}

function TimeRow({ name, here, there }: { name: string; here: Ns; there: Ns }): JSX.Element {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td data-figure={`${name} here`} title={exactTime(here)}>{timeWords(here)}</td>
      <td data-figure={`${name} everywhere`} title={exactTime(there)}>{timeWords(there)}</td>
    </tr>
  );
}

function BytesRow({ name, here, there }: { name: string; here: number; there: number }): JSX.Element {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td data-figure={`${name} here`} title={`${grouped(here)} bytes`}>{bytesWords(here)}</td>
      <td data-figure={`${name} everywhere`} title={`${grouped(there)} bytes`}>{bytesWords(there)}</td>
    </tr>
  );
}

function CountRow({ name, here, there }: { name: string; here: Count; there: Count }): JSX.Element {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td data-figure={`${name} here`}>{countWords(here)}</td>
      <td data-figure={`${name} everywhere`}>{countWords(there)}</td>
    </tr>
  );
}
