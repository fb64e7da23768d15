// One recording of the list: its program and verdict, CPU over time, what it cost, where it is from.
import type { JSX } from "preact";
import { exactMoment, momentWords, spanWords } from "../../model/server/dates";
import type { Recording } from "../../model/server/recordings";
import { sizeWords, sparkPath, verdictOf } from "../../model/server/summaries";
import type { Ms, Ns } from "../../model/units";
import { exactTime, shown, visible } from "../../model/words";

const PROGRAM_MAX = 200;
const TITLE_MAX = 1_000;
const TAG_MAX = 40;
const TAGS_MAX = 4;
const SPARK = { width: 132, height: 24 };
/** Of a live recording: the rest of the line is to come. */
const LIVE_SHARE = 0.72;

export interface RowUse {
  readonly isSelected: boolean;
  /** 0: not chosen; otherwise the letter of the side. */
  readonly side: "A" | "B" | null;
  readonly now: Ms;
  readonly onSelect: () => void;
  readonly onChoose: () => void;
}

export function Row({ recording, use }: { recording: Recording; use: RowUse }): JSX.Element {
  const { facts, live } = recording;
  const { bold, words } = verdictOf(recording);
  const program = shown(recording.program, PROGRAM_MAX);
  const tags = recording.tags.slice(0, TAGS_MAX);
  return (
    <div
      class={`rec${live ? " live" : ""}${use.isSelected ? " on" : ""}`}
      role="row"
      data-row={recording.id}
      tabIndex={use.isSelected ? 0 : -1}
      aria-selected={use.isSelected}
      onFocus={(event) => {
        if (event.target === event.currentTarget && !use.isSelected) use.onSelect();
      }}
      onClick={(event) => {
        if (event.target instanceof Element && event.target.closest("a, input, label") !== null) return;
        use.onSelect();
      }}
    >
      <div class="rec-choice" role="gridcell">
        {live ? <span class="pulse" role="img" aria-label="live" /> : (
          <label>
            <input
              type="checkbox"
              tabIndex={-1}
              checked={use.side !== null}
              disabled={recording.state === "open"}
              aria-label={`Choose ${program} to compare`}
              onChange={use.onChoose}
            />
            {use.side === null ? null : <b class="side" aria-hidden="true">{use.side}</b>}
          </label>
        )}
      </div>
      <div class="rec-what" role="gridcell">
        <a href={recording.url} tabIndex={-1} data-open>
          <bdi class="rec-program" title={shown(recording.program, TITLE_MAX)}>{program}</bdi>
          <bdi class="rec-verdict" title={`${bold}: ${words}`} data-verdict>
            <b>{bold}:</b> {words}
          </bdi>
        </a>
      </div>
      <div class="rec-spark" role="gridcell"><Spark recording={recording} /></div>
      <div class="rec-cpu" role="gridcell" title={exact(facts?.cpu)}>{span(facts?.cpu)}</div>
      <div class="rec-wall" role="gridcell" title={exact(facts?.wall)}>{span(facts?.wall)}</div>
      <div class="rec-host" role="gridcell">
        <div class="cut">
          <bdi>{recording.host === null ? "no host" : shown(recording.host, PROGRAM_MAX)}</bdi>
          {live ? null : <span class="quiet"> · {sizeWords(recording)}</span>}
        </div>
        <div class="cut quiet">
          {tags.map((tag) => <span key={tag}><bdi class="tag">{shown(tag, TAG_MAX)}</bdi>{" "}</span>)}
          {recording.tags.length > TAGS_MAX ? `+${recording.tags.length - TAGS_MAX}` : null}
          {live ? <span data-grown>{sizeWords(recording)}</span> : tags.length === 0 ? "no tags" : null}
        </div>
      </div>
      <div class="rec-who" role="gridcell">
        <div class="cut"><bdi>{visible(recording.owner)}</bdi></div>
        {live ? <a href={recording.url} tabIndex={-1}>follow</a> : <time class="quiet" dateTime={new Date(recording.created).toISOString()} title={exactMoment(recording.created)}>{momentWords(recording.created, use.now)}</time>}
      </div>
    </div>
  );
}

export function Head(): JSX.Element {
  const columns = [["rec-choice", ""], ["rec-what", "Program and verdict"], ["rec-spark", "CPU over time"], ["rec-cpu", "CPU"], ["rec-wall", "Wall"], ["rec-host", "Host, tags"], ["rec-who", "Who, when"]] as const;
  return (
    <div class="rec rec-head" role="row">
      {columns.map(([name, words]) => (words === "" ? <span key={name} role="columnheader" aria-label="Choice" /> : <span key={name} class={name} role="columnheader">{words}</span>))}
    </div>
  );
}

function Spark({ recording: { facts, live } }: { recording: Recording }): JSX.Element | null {
  if (facts === null || facts.spark.length === 0) return null;
  const width = SPARK.width * (live ? LIVE_SHARE : 1);
  return (
    <svg class="spark" viewBox={`0 0 ${SPARK.width} ${SPARK.height}`} preserveAspectRatio="none" aria-hidden="true">
      <path class="spark-cpu" d={sparkPath(facts.spark, width, SPARK.height - 1)} />
      <path class="spark-base" d={`M0 ${SPARK.height - 0.5}H${SPARK.width}`} />
      {live ? <path class="spark-now" d={`M${width} 1V${SPARK.height}`} /> : null}
    </svg>
  );
}

function span(ns: Ns | null | undefined): string {
  return ns === null || ns === undefined ? "–" : spanWords(ns);
}
function exact(ns: Ns | null | undefined): string | undefined {
  return ns === null || ns === undefined ? undefined : exactTime(ns);
}
