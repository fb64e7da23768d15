// Something that a reader asks the server to do: under way, refused with words, or done. And the buttons that do such things: copy, choose one of
// a few, be sure.
import { useSignal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { problemFrom } from "../api/ask";
import type { Problem } from "../api/ask";

export interface Action {
  readonly isBusy: Signal<boolean>;
  readonly problem: Signal<Problem | null>;
  /** Not while it is under way already. */
  readonly run: (act: () => Promise<void>) => void;
}

export function useAction(): Action {
  const isBusy = useSignal(false);
  const problem = useSignal<Problem | null>(null);
  const act = async (ask: () => Promise<void>): Promise<void> => {
    isBusy.value = true;
    problem.value = null;
    try {
      await ask();
    } catch (error) {
      problem.value = problemFrom(error);
    } finally {
      isBusy.value = false;
    }
  };
  return {
    isBusy,
    problem,
    run: (ask) => {
      if (!isBusy.value) void act(ask);
    },
  };
}

export function ProblemWords({ problem }: { problem: Problem | null }): JSX.Element | null {
  if (problem === null) return null;
  return (
    <p class="problem" role="alert" data-problem>
      <b>{problem.title}</b>
      {problem.detail === null ? null : <span>{problem.detail}</span>}
      {problem.hint === null ? null : <span class="hint">{problem.hint}</span>}
    </p>
  );
}

const COPIED_MS = 2_000;
export function Copy({ text, what }: { text: string; what: string }): JSX.Element {
  const said = useSignal("Copy");
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      said.value = "Copied";
    } catch (error) {
      // Without TLS a browser has no clipboard for pages of other machines.
      if (!(error instanceof DOMException || error instanceof TypeError)) throw error;
      said.value = "Press Ctrl+C";
    }
    setTimeout(() => {
      said.value = "Copy";
    }, COPIED_MS);
  };
  return (
    <button
      type="button"
      class="link copy"
      data-copy
      aria-label={`${said.value}: ${what}`}
      onClick={(event) => {
        const field = event.currentTarget.parentElement?.querySelector("[data-text]");
        if (field !== null && field !== undefined) getSelection()?.selectAllChildren(field);
        void copy();
      }}
    >
      <span aria-live="polite">{said.value}</span>
    </button>
  );
}

/** A text to take along. */
export function Field({ text, what, children }: { text: string; what: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="field">
      <code data-text>{text}</code>
      {children}
      <Copy text={text} what={what} />
    </div>
  );
}

export function Segments<T extends string>({ label, of, words, value }: { label: string; of: readonly T[]; words: Readonly<Record<T, string>>; value: Signal<T> }): JSX.Element {
  return (
    <span class="segments" role="group" aria-label={label}>
      {of.map((at) => (
        <button
          type="button"
          key={at}
          data-choice={at}
          aria-pressed={value.value === at}
          onClick={() => {
            value.value = at;
          }}
        >
          {words[at]}
        </button>
      ))}
    </span>
  );
}

/** Asked in the page, where the button was: a second press does it. */
export function Sure({ question, yes, no = "Keep", busy, onYes, onNo }: { question: string; yes: string; no?: string; busy: boolean; onYes: () => void; onNo: () => void }): JSX.Element {
  const keep = useRef<HTMLButtonElement>(null);
  // What changes nothing has the focus.
  useLayoutEffect(() => {
    keep.current?.focus();
  }, []);
  return (
    <div
      class="sure"
      role="alertdialog"
      aria-label={question}
      data-sure
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        onNo();
      }}
    >
      <span>{question}</span>
      <span class="sure-answers">
        <button type="button" class="button danger" disabled={busy} onClick={onYes}>{yes}</button>
        <button type="button" class="button" ref={keep} onClick={onNo}>{no}</button>
      </span>
    </div>
  );
}
