// The search box with its language, examples of it, and the filters as chips.
import type { JSX, RefObject } from "preact";
import { useRef } from "preact/hooks";
import { SORT_WORDS, SORTS } from "../../model/server/addresses";
import type { Sort } from "../../model/server/addresses";
import { shown, visible } from "../../model/words";
import { matchedWords } from "../../model/server/recordings";
import { holdsQuery, piecesOf, termsOf, termText, termWords, withoutTerm, withQuery } from "../../model/server/search";
import { ProblemWords } from "../frame/action";
import type { ListState } from "../state/list-state";

const EXAMPLES = ["program:import_orders tag:main", "function:parse cpu>2s", "verdict:gil", "who:sam since:yesterday", '"fdatasync"'];
const CHIP_MAX = 40;

export function Search({ state, input, onDown }: { state: ListState; input: RefObject<HTMLInputElement | null>; onDown: () => void }): JSX.Element {
  const mirror = useRef<HTMLDivElement>(null);
  const counts = state.site.counts.value;
  const query = state.typed.value;
  const sort = state.asked.value.sort;
  const follow = (): void => {
    if (mirror.current !== null && input.current !== null) mirror.current.scrollLeft = input.current.scrollLeft;
  };
  return (
    <form
      class="search"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        state.search({ query, sort });
      }}
    >
      <div class="search-box">
        <span class="search-text">
          <input
            ref={input}
            type="search"
            value={query}
            aria-label="Search recordings"
            aria-keyshortcuts="/"
            aria-describedby="examples"
            placeholder="program, host, tag, function, who, verdict, cpu, wall, size, since"
            autocomplete="off"
            autocapitalize="off"
            spellcheck={false}
            onInput={(event) => {
              state.type(event.currentTarget.value);
              requestAnimationFrame(follow);
            }}
            onScroll={follow}
            onBlur={state.settle}
            onKeyDown={(event) => {
              requestAnimationFrame(follow);
              if (event.key === "ArrowDown") {
                event.preventDefault();
                onDown();
              } else if (event.key === "Escape") {
                event.preventDefault();
                if (query === "") event.currentTarget.blur();
                else state.search({ query: "", sort });
              }
            }}
          />
          <div class="search-mirror" ref={mirror} aria-hidden="true">
            {piecesOf(query).map(({ text, isKey }, at) => (isKey ? <b key={at}>{text}</b> : <span key={at}>{text}</span>))}
          </div>
        </span>
        <kbd>/</kbd>
        <output class="quiet" data-matched>{counts === null ? "" : `${matchedWords(counts)} of ${counts.all.toLocaleString("en-US")}`}</output>
      </div>
      <div class="examples" id="examples">
        <span>For example</span>
        {EXAMPLES.map((example) => (
          <button
            type="button"
            key={example}
            data-example
            onClick={() => {
              state.search({ query: example, sort });
              input.current?.focus();
            }}
          >
            <code>{example}</code>
          </button>
        ))}
      </div>
      <ProblemWords problem={state.problem.value} />
    </form>
  );
}

export function Chips({ state }: { state: ListState }): JSX.Element {
  const { query, sort } = state.asked.value;
  const terms = termsOf(query).filter(({ key }) => key !== null);
  const offered = state.chips.value.filter((chip) => !holdsQuery(query, chip.query));
  return (
    <div class="chips" role="group" aria-label="Filters">
      {terms.map((term) => (
        <button
          type="button"
          class="chip on"
          key={`${term.from}`}
          data-chip={termText(query, term)}
          title={`Search without ${shown(termText(query, term), 200)}`}
          onClick={() => {
            state.search({ query: withoutTerm(query, term), sort });
          }}
        >
          <span class="cut">{shown(termWords(term), CHIP_MAX)}</span> <i aria-hidden="true">✕</i>
        </button>
      ))}
      {offered.map((chip) => (
        <button
          type="button"
          class="chip"
          key={chip.query}
          data-chip={chip.query}
          title={visible(chip.query)}
          onClick={() => {
            state.search({ query: withQuery(query, chip.query), sort });
          }}
        >
          <span class="cut">{shown(chip.label, CHIP_MAX)}</span> <i>{chip.count.toLocaleString("en-US")}</i>
        </button>
      ))}
      <span class="grow" />
      <select
        aria-label="Order"
        data-sort
        value={sort}
        onChange={(event) => {
          state.search({ query, sort: event.currentTarget.value as Sort });
        }}
      >
        {SORTS.map((at) => <option key={at} value={at} selected={at === sort}>{SORT_WORDS[at]}</option>)}
      </select>
    </div>
  );
}
