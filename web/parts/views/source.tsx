// A file as it ran: what each line costs, its hot expressions underlined. The text is the one that was recorded.
import { useComputed } from "@preact/signals";
import { Fragment } from "preact";
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { filesByShare, markedLine, sourceLines } from "../../model/source-view";
import type { ListedLine } from "../../model/source-view";
import { plural, shareWords } from "../../model/words";
import type { PageState } from "../state/page-state";
import { Chain } from "../chain";

export function SourceView({ state }: { state: PageState }): JSX.Element {
  const { filters, view, recording: { profile } } = state;
  const files = useComputed(() => filesByShare(profile.sources, state.lineShares.value));
  const spot = state.spot.value;
  const shown = useComputed(() => {
    const chosen = state.chosenFile.value ?? state.spot.value?.file ?? null;
    return files.value.some(({ path }) => path === chosen) ? chosen : (files.value[0]?.path ?? null);
  });
  const lines = useComputed(() => (shown.value === null ? [] : sourceLines({ sources: profile.sources, tree: filters.tree.value, shares: state.lineShares.value, weight: view.weight.value, file: shown.value })));
  const file = shown.value;
  const list = useRef<HTMLOListElement>(null);
  const line = spot !== null && spot.file === file ? spot.line : null;
  useLayoutEffect(() => {
    list.current?.querySelector(".on")?.scrollIntoView({ block: "center" });
  }, [file, line]);
  if (file === null) return <p class="absent">No source text is in this recording. genba keeps the text of the files that were hit: genba run --source, not none.</p>;
  return (
    <section class="source-view" aria-label="Source">
      <p>
        <select
          aria-label="File"
          value={file}
          onChange={({ currentTarget: { value } }) => {
            state.chooseFile(value);
          }}
        >
          {files.value.map(({ path, fileName, share }) => (
            <option key={path} value={path}>{fileName} {share === null ? "" : shareWords(share)}</option>
          ))}
        </select>
        <span class="quiet"> {file} · total: % with the line on the stack; own: % while the line itself ran</span>
      </p>
      <ol ref={list}>
        {lines.value.map((each) => (
          <Line key={each.line} state={state} line={each} on={each.line === line} />
        ))}
      </ol>
    </section>
  );
}

function Line({ state, line, on }: { state: PageState; line: ListedLine; on: boolean }): JSX.Element {
  const select = (): void => {
    if (line.box !== null) state.showBox(line.box);
  };
  return (
    <li class={on ? "on" : undefined} style={{ "--share": `${(line.total ?? 0) * 100}%` }} data-line={line.line} onClick={select}>
      <span class="line-number">{line.line}</span>
      <span class="line-share">{line.total === null ? "" : shareWords(line.total)}</span>
      <span class="line-share" data-own>{line.own === null ? "" : shareWords(line.own)}</span>
      <span class="src">
        {markedLine(line).map((part, at) => (
          <Fragment key={at}>
            {part.box === null ? part.text : (
              <button
                type="button"
                class="expression"
                title={part.share === null ? undefined : shareWords(part.share)}
                onClick={(event) => {
                  event.stopPropagation();
                  if (part.box !== null) state.showBox(part.box);
                }}
              >
                <u>{part.text}</u>
              </button>
            )}
          </Fragment>
        ))}
      </span>
      {on ? <Marks state={state} line={line} /> : null}
    </li>
  );
}

const MARKS_MAX = 8;

/** Of the selected line: a bar under each expression that ran, with its share and its chain into C. */
function Marks({ state, line: { text, expressions } }: { state: PageState; line: ListedLine }): JSX.Element | null {
  if (expressions.length === 0) return null;
  const characters = Array.from(text);
  const { place } = state.filters.tree.value;
  const more = expressions.length - MARKS_MAX;
  return (
    <ul class="marks">
      {expressions.slice(0, MARKS_MAX).map((expression) => {
        const row = state.rows.value.find(({ box }) => box !== null && place[box] === place[expression.box]);
        // The text itself, unseen, keeps the bar under it, whatever its characters are wide.
        return (
          <li key={expression.box}>
            <span class="unseen" aria-hidden="true">{characters.slice(0, expression.from).join("")}</span>
            <span class="mark-bar" aria-hidden="true">{characters.slice(expression.from, expression.to).join("")}</span>
            <b>{shareWords(expression.share)}</b>
            <span class="spoken"> {characters.slice(expression.from, expression.to).join("")}</span>
            {row === undefined ? null : <Chain row={row} />}
          </li>
        );
      })}
      {more > 0 ? <li class="quiet">and {plural(more, "smaller one")}</li> : null}
    </ul>
  );
}
