// The panel of the selected recording: who may see it, what a reader sees, and what is done with it. On a narrow screen a sheet from below.
import type { JSX } from "preact";
import { exactMoment, momentWords } from "../../model/server/dates";
import { shown, visible } from "../../model/words";
import type { Recording } from "../../model/server/recordings";
import { readerRows } from "../../model/server/summaries";
import type { ListState } from "../state/list-state";
import { Share } from "./share";
import { ThisRecording } from "./this-recording";

const PROGRAM_MAX = 160;

export function Panel({ state, recording }: { state: ListState; recording: Recording | null }): JSX.Element {
  const isShown = state.panelShown.value;
  return (
    <aside class={`panel${isShown ? " shown" : ""}`} aria-label="The selected recording" data-panel>
      {recording === null ? <p class="quiet">Nothing is selected.</p> : (
        <>
          <button
            type="button"
            class="sheet-handle"
            aria-expanded={isShown}
            data-sheet
            onClick={() => {
              state.panelShown.value = !isShown;
            }}
          >
            <span>{shown(recording.program, PROGRAM_MAX)}</span>
            <span class="quiet">{isShown ? "close" : recording.mayChange ? "share" : "more"}</span>
          </button>
          <Contents key={recording.id} state={state} recording={recording} />
        </>
      )}
    </aside>
  );
}

function Contents({ state, recording }: { state: ListState; recording: Recording }): JSX.Element {
  const { facts, mayChange } = recording;
  const now = state.site.now.value;
  return (
    <>
      <div>
        <h2>{mayChange ? "Share this recording" : "This recording"}</h2>
        <p class="quiet panel-what">
          <code>{shown(recording.program, PROGRAM_MAX)}</code> · <bdi>{visible(recording.owner)}</bdi> · <time title={exactMoment(recording.created)}>{momentWords(recording.created, now)}</time>
        </p>
      </div>
      <Share state={state} recording={recording} />
      <div>
        <h3>What a reader can see</h3>
        {facts === null ? <p class="quiet">It is not known before the recording is read.</p> : (
          <dl class="facts" data-reader>
            {readerRows(facts).map(([name, words]) => <div key={name}><dt>{name}</dt><dd>{words}</dd></div>)}
          </dl>
        )}
      </div>
      <ThisRecording state={state} recording={recording} />
      {facts === null ? null : (
        <div>
          <h3>Accounting</h3>
          <p class="quiet panel-what" data-accounting>{shown(facts.accounting, 400)}</p>
          {facts.faults.slice(0, 5).map((fault) => <p class="problem" key={fault}>{shown(fault, 300)}</p>)}
          {facts.faults.length > 5 ? <p class="quiet">and {facts.faults.length - 5} more</p> : null}
        </div>
      )}
    </>
  );
}
