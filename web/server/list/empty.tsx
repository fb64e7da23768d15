// A list without rows says why, and what would fill it.
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { pushCommands } from "../../model/server/commands";
import { shown } from "../../model/words";
import { matchWords } from "../../model/server/recordings";
import type { Matched } from "../../model/server/recordings";
import { termsOf, termText, termWords, withoutTerm } from "../../model/server/search";
import type { Term } from "../../model/server/search";
import { problemFrom } from "../api/ask";
import { readRecordings } from "../api/requests";
import { Field } from "../frame/action";
import type { ListState } from "../state/list-state";

export function NoRecordings({ state }: { state: ListState }): JSX.Element {
  const { login } = state.site.session;
  const commands = pushCommands(location.origin);
  const ways = [
    ["Record and push", "The program runs as usual; the link is printed at its end.", commands.run],
    ["Push a file", "A recording you already have. Resumes when the line breaks.", commands.push],
    ["See what would leave", "Lists every field and sends nothing.", commands.dryRun],
  ] as const;
  return (
    <section class="wide nothing-here" data-empty>
      <h1>No recordings yet</h1>
      <p class="quiet">This page fills as soon as somebody pushes one. Three ways:</p>
      <div class="ways">
        {ways.map(([title, words, command]) => (
          <div key={title}>
            <h2>{title}</h2>
            <p class="quiet">{words}</p>
            <Field text={command} what={title} />
          </div>
        ))}
      </div>
      {login ? <p class="quiet">A push needs a token with the scope <code>write</code>: in the variable <code>GENBA_TOKEN</code>, or in a file named by <code>--token-file</code>.</p> : null}
    </section>
  );
}

/** What would be found without one of the terms. */
interface Without extends Matched {
  readonly term: Term;
}
const TERMS_MAX = 6;
const TERM_MAX = 80;

export function NoMatch({ state }: { state: ListState }): JSX.Element {
  const { query, sort } = state.asked.value;
  const terms = termsOf(query);
  const found = useSignal<readonly Without[]>([]);
  useEffect(() => {
    const stop = new AbortController();
    found.value = [];
    const ask = async (term: Term): Promise<Without> => {
      const { matched, isLeast } = await readRecordings({ query: withoutTerm(query, term), sort: "newest" }, { limit: 1, signal: stop.signal });
      return { term, matched, isLeast };
    };
    const askAll = async (): Promise<void> => {
      try {
        const all = terms.length < 2 ? [] : await Promise.all(terms.slice(0, TERMS_MAX).map(ask));
        if (!stop.signal.aborted) found.value = all.filter(({ matched, isLeast }) => matched > 0 || isLeast).sort((a, b) => b.matched - a.matched);
      } catch (error) {
        // The sentence is true without it.
        if (problemFrom(error) === null) return;
      }
    };
    void askAll();
    return () => {
      stop.abort();
    };
  }, [query]);
  const time = terms.find(({ key, values }) => key === "since" && /^\d+[mhdwy]$/.test(values[0] ?? ""));
  const named = terms.filter((term) => term !== time);
  const all = state.site.counts.value?.all ?? 0;
  return (
    <section class="wide" data-no-match>
      <div class="card no-match" role="status">
        <p>
          <b>
            Nothing matches {named.map((term) => <span key={term.from}><code>{shown(termText(query, term), TERM_MAX)}</code> </span>)}
            {time === undefined ? null : named.length === 0 ? <code>{termText(query, time)}</code> : `in the ${termWords(time)}`}
          </b>
        </p>
        {found.value.map(({ term, ...counted }) => (
          <p key={term.from}>
            <span class="quiet">{matchWords(counted)} without </span>
            <code>{term.key === null ? shown(termText(query, term), TERM_MAX) : `${term.key}${term.operator}`}</code>{" "}
            <button
              type="button"
              class="link"
              data-without
              onClick={() => {
                state.search({ query: withoutTerm(query, term), sort });
              }}
            >
              Search without it
            </button>
          </p>
        ))}
        <p>
          <button
            type="button"
            class="link"
            data-all
            onClick={() => {
              state.search({ query: "", sort });
            }}
          >
            Show all {all.toLocaleString("en-US")}
          </button>
        </p>
      </div>
    </section>
  );
}
