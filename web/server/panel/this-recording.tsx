// Tags, name, how long it is kept, the file itself, and its end.
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { dayWords, exactMoment } from "../../model/server/dates";
import { hashWords, shortProgram } from "../../model/server/names";
import type { Recording } from "../../model/server/recordings";
import { plural, shown } from "../../model/words";
import { changeRecording, deleteRecording, recordingPath } from "../api/requests";
import { ProblemWords, Sure, useAction } from "../frame/action";
import type { ListState } from "../state/list-state";

const NAME_MAX = 120;
const TAG_MAX = 60;

export function ThisRecording({ state, recording }: { state: ListState; recording: Recording }): JSX.Element {
  const { id, tags, sha256, keptUntil, mayChange, name } = recording;
  const asks = useSignal<"tag" | "name" | "delete" | null>(null);
  const doing = useAction();
  const now = state.site.now.value;
  const change = (to: { name?: string; tags?: readonly string[] }): void => {
    doing.run(async () => {
      state.put(await changeRecording(id, to));
      asks.value = null;
    });
  };
  /** What went wrong before was about something else. */
  const ask = (what: typeof asks.value): void => {
    asks.value = what;
    doing.problem.value = null;
  };
  const close = (): void => {
    ask(null);
  };
  return (
    <div data-this>
      <h3>This recording</h3>
      <dl class="facts">
        <div>
          <dt>file</dt>
          <dd><bdi data-name title={shown(name, 1_000)}>{shown(name, NAME_MAX)}</bdi></dd>
        </div>
        <div>
          <dt>tags</dt>
          <dd class="tags">
            {tags.map((tag) => (
              <span class="tag" key={tag}>
                <bdi>{shown(tag, TAG_MAX)}</bdi>
                {mayChange ? (
                  <button
                    type="button"
                    class="link"
                    data-untag={tag}
                    aria-label={`Remove the tag ${shown(tag, TAG_MAX)}`}
                    disabled={doing.isBusy.value}
                    onClick={() => {
                      change({ tags: tags.filter((other) => other !== tag) });
                    }}
                  >
                    ✕
                  </button>
                ) : null}
              </span>
            ))}
            {mayChange ? <button type="button" class="link" data-add-tag onClick={() => { ask("tag"); }}>add</button> : tags.length === 0 ? "none" : null}
          </dd>
        </div>
        {asks.value === "tag" ? <Entry label="New tag" text="" yes="Add" busy={doing.isBusy.value} onClose={close} onText={(tag) => { change({ tags: [...tags.filter((other) => other !== tag), tag] }); }} /> : null}
        <div>
          <dt>kept until</dt>
          <dd>{keptUntil === null ? "somebody deletes it" : <time title={exactMoment(keptUntil)}>{dayWords(keptUntil, now)}{ruleWords(state)}</time>}</dd>
        </div>
        <div>
          <dt>content</dt>
          <dd>{sha256 === null ? "not whole yet" : <code title={sha256} data-hash>sha256 {hashWords(sha256)}</code>}</dd>
        </div>
        {recording.facts === null ? null : (
          <div>
            <dt>CPython</dt>
            <dd>{shown(recording.facts.pythons.join(", "), NAME_MAX)}</dd>
          </div>
        )}
      </dl>
      <p class="does">
        {mayChange ? <><button type="button" class="link" data-rename onClick={() => { ask("name"); }}>Rename</button> · </> : null}
        <a class="link" href={recordingPath(id, "/content")} download={name} data-download>Download</a>
        {mayChange ? <> · <button type="button" class="link" data-delete onClick={() => { ask("delete"); }}>Delete</button></> : null}
      </p>
      {asks.value === "name" ? <Entry label="New name" text={name} yes="Rename" busy={doing.isBusy.value} onClose={close} onText={(to) => { change({ name: to }); }} /> : null}
      {asks.value === "delete" ? (
        <Sure
          question={`Delete ${shortProgram(recording.program)}? Its links stop working. Nobody can bring it back.`}
          yes="Delete"
          busy={doing.isBusy.value}
          onNo={close}
          onYes={() => {
            doing.run(async () => {
              await deleteRecording(id);
              state.drop(id);
            });
          }}
        />
      ) : null}
      <ProblemWords problem={doing.problem.value} />
    </div>
  );
}

function ruleWords({ site }: ListState): string {
  const days = site.settings.value?.keepDays ?? null;
  return days === null ? "" : `, by the rule of ${plural(days, "day")}`;
}

/** One line of text, where the button for it was. */
function Entry({ label, text, yes, busy, onText, onClose }: { label: string; text: string; yes: string; busy: boolean; onText: (text: string) => void; onClose: () => void }): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    input.current?.focus();
    input.current?.select();
  }, []);
  return (
    <form
      class="entry"
      onSubmit={(event) => {
        event.preventDefault();
        const to = input.current?.value.trim() ?? "";
        if (to !== "" && to !== text) onText(to);
        else onClose();
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        onClose();
      }}
    >
      <input ref={input} type="text" aria-label={label} defaultValue={text} autocomplete="off" spellcheck={false} data-entry />
      <button type="submit" class="button" disabled={busy}>{yes}</button>
      <button type="button" class="link" onClick={onClose}>Cancel</button>
    </form>
  );
}
