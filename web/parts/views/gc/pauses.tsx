// Collections one by one: what they cost, when they ran, what they gained, and what follows for the program.
import { useComputed } from "@preact/signals";
import type { JSX } from "preact";
import type { Collection, Collections } from "../../../model/tables/profile";
import { keptPauses, pauseBars, pauseBins, pauseSum, pausesBy } from "../../../model/time/pauses";
import type { PauseSum } from "../../../model/time/pauses";
import { share } from "../../../model/tree/tree";
import type { Ns } from "../../../model/units";
import { countWords, grouped, intervalWords, momentWords, plural, shareWords, timeWords } from "../../../model/words";
import { keptTime } from "../../state/page-state";
import type { PageState } from "../../state/page-state";

const [COLUMNS, HEIGHT] = [400, 100];
/** A pause of so much has no height. */
const LOWEST = 1_000;
const [PLACES_MAX, LONGEST_MAX] = [20, 10];

export function Pauses({ state, collections }: { state: PageState; collections: Collections }): JSX.Element {
  const range = keptTime(state);
  const rows = useComputed(() => keptPauses(collections, { time: keptTime(state), process: state.filters.kept.value.process })).value;
  const all = pauseSum(rows);
  const isWhole = range === null && state.filters.kept.value.process === null;
  const words = (row: Collection): string => collectionWords(row, collections);
  return (
    <>
      <p>
        <b>{plural(all.collections, "collection")}</b>
        {all.collections === 0 ? (isWhole ? " ran." : " began in what is kept.") : <> held the program up for <b>{timeWords(all.pause)}</b>{isWhole ? ` in all, ${shareWords(share(all.pause, collections.wall))} of ${timeWords(collections.wall)}` : ""}; the longest for {timeWords(all.longest)}.</>}
      </p>
      {gapsOf(collections).map((gap) => <p key={gap} class="quiet">{gap}</p>)}
      {isWhole ? collections.advice.map((advice) => <p key={advice} data-advice><b>Advice:</b> {advice}</p>) : null}
      {rows.length === 0 ? null : (
        <>
          <Chart rows={rows} time={range ?? { start: 0 as Ns, end: state.recording.profile.meta.wall }} words={words} />
          <Histogram rows={rows} />
          <Sums head="generation" sums={pausesBy(rows, ({ generation }) => generation).sort(([a], [b]) => a - b).map(([generation, sum]) => [String(generation), sum])} />
          <Sums head="ran at" sums={pausesBy(rows, ({ place }) => place).map(([place, sum]) => [collections.places[place] ?? "?", sum])} />
          <Longest rows={rows} words={words} />
        </>
      )}
    </>
  );
}

function gapsOf({ before, lost, leftOut, isIncremental }: Collections): string[] {
  const gaps: string[] = [];
  if (before > 0) gaps.push(`Not recorded: ${plural(before, "collection")} that ran before recording them began.`);
  if (lost > 0) gaps.push(`Not recorded: ${plural(lost, "collection")} for which there was no room.`);
  if (leftOut > 0) gaps.push(`Not in this page: the ${plural(leftOut, "collection")} with the shortest pauses. genba gc counts all.`);
  if (isIncremental) gaps.push("CPython 3.14.0 to 3.14.4 collect in increments: generation 1 is one increment, generation 2 a full collection, and nothing tells how many objects were examined.");
  return gaps;
}

function collectionWords(row: Collection, { places }: Collections): string {
  const examined = row.examined === null ? "" : `${countWords(row.examined)} objects examined, `;
  return `At ${momentWords(row.at)}: generation ${row.generation}, ${row.reason}, ${timeWords(row.pause)}; ${examined}${countWords(row.collected)} collected; ran at ${places[row.place] ?? "?"}`;
}

/** One bar for each generation and column of the time. Heights are logarithmic: short pauses are seen beside long ones. */
function Chart({ rows, time, words }: { rows: readonly Collection[]; time: { start: Ns; end: Ns }; words: (row: Collection) => string }): JSX.Element {
  const longest = rows.reduce((most, { pause }) => Math.max(most, pause), LOWEST * 10);
  const height = (pause: Ns): number => Math.max(2, (Math.log(Math.max(LOWEST, pause) / LOWEST) / Math.log(longest / LOWEST)) * HEIGHT);
  const generations = [...new Set(rows.map(({ generation }) => generation))].sort();
  return (
    <figure class="pauses">
      <svg viewBox={`0 0 ${COLUMNS} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={`Pauses from ${momentWords(time.start)} to ${momentWords(time.end)}, the longest ${timeWords(longest as Ns)}`}>
        {pauseBars(rows, time, COLUMNS).map(({ column, row, collections }) => (
          <rect key={`${column} ${row.generation}`} data-generation={row.generation} x={column} width={1} y={HEIGHT - height(row.pause)} height={height(row.pause)}>
            <title>{words(row)}{collections > 1 ? `; the longest of ${grouped(collections)} here` : ""}</title>
          </rect>
        ))}
      </svg>
      <figcaption class="quiet">
        <span>{momentWords(time.start)} to {momentWords(time.end)}; heights are logarithmic, from 1 µs to {timeWords(longest as Ns)}</span>
        {generations.map((generation) => <span key={generation}><i data-generation={generation} /> generation {generation}</span>)}
      </figcaption>
    </figure>
  );
}

function Histogram({ rows }: { rows: readonly Collection[] }): JSX.Element {
  const bins = pauseBins(rows);
  const most = bins.reduce((most, { collections }) => Math.max(most, collections), 1);
  return (
    <table class="pause-bins">
      <thead><tr><th>pauses</th><th>collections</th><th aria-hidden="true" /></tr></thead>
      <tbody>
        {bins.map(({ below, collections }) => (
          <tr key={below}>
            <td>{below === null ? "1 s and more" : `below ${intervalWords(below)}`}</td>
            <td>{grouped(collections)}</td>
            <td class="name" aria-hidden="true"><i style={{ width: `${(collections / most) * 100}%` }} /></td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Sums({ head, sums }: { head: string; sums: readonly [string, PauseSum][] }): JSX.Element {
  const folded = sums.slice(PLACES_MAX);
  return (
    <table>
      <thead><tr><th class="name">{head}</th><th>collections</th><th>in all</th><th>longest</th><th>examined</th><th>collected</th></tr></thead>
      <tbody>
        {sums.slice(0, PLACES_MAX).map(([name, sum]) => (
          <tr key={name}>
            <td class="name">{name}</td>
            <td>{grouped(sum.collections)}</td>
            <td>{timeWords(sum.pause)}</td>
            <td>{timeWords(sum.longest)}</td>
            <td>{sum.examined === null ? "–" : countWords(sum.examined)}</td>
            <td>{countWords(sum.collected)}</td>
          </tr>
        ))}
        {folded.length === 0 ? null : <tr><td class="name quiet" colSpan={6}>{plural(folded.length, "more place")}, {timeWords(folded.reduce((all, [, { pause }]) => all + pause, 0) as Ns)} in all</td></tr>}
      </tbody>
    </table>
  );
}

function Longest({ rows, words }: { rows: readonly Collection[]; words: (row: Collection) => string }): JSX.Element {
  const longest = [...rows].sort((a, b) => b.pause - a.pause).slice(0, LONGEST_MAX);
  return (
    <>
      <h2>The longest</h2>
      <ol>{longest.map((row, at) => <li key={at}>{words(row)}</li>)}</ol>
    </>
  );
}
