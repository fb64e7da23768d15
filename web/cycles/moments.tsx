// What waited for the collector before full collections of a recording: one of these moments, its kinds of cycles as graphs.
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { momentLabels } from "../model/cycles/in-recording";
import type { Moment, Moments } from "../model/cycles/in-recording";
import { KindSection } from "./kind";
import { measured } from "./measured";

export function MomentsPart({ numbers: { moments, notes } }: { numbers: Moments }): JSX.Element {
  const chosen = useSignal(moments.length - 1);
  const moment = moments[chosen.value];
  return (
    <>
      <h2>Garbage in cycles</h2>
      {moment === undefined ? null : (
        <>
          <p>
            <label>
              Before the full collection at{" "}
              <select
                value={`${chosen.value}`}
                onChange={({ currentTarget }) => {
                  chosen.value = Number(currentTarget.value);
                }}
              >
                {momentLabels(moments).map((label, at) => <option key={at} value={`${at}`}>{label}</option>)}
              </select>
            </label>
          </p>
          <MomentPart key={chosen.value} moment={moment} />
        </>
      )}
      {notes.map((note) => <p key={note} class="quiet" data-note>{note}</p>)}
    </>
  );
}

function MomentPart({ moment: { file, picture: { about, kinds, more, end } } }: { moment: Moment }): JSX.Element {
  const measure = useMemo(measured, []);
  return (
    <>
      <pre data-about={file}>{about.trimEnd()}</pre>
      {kinds.map((kind, place) => <KindSection key={place} kind={kind} measure={measure} />)}
      {more === null ? null : <p data-more>{more}: <code>genba gc cycles {file} --limit 0 -o OUT</code> shows all.</p>}
      <pre data-end>{end.trimEnd()}</pre>
    </>
  );
}
