// The list itself: live recordings, then the others, more of them when the end comes into view.
import type { JSX, RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { lookedWords } from "../../model/server/recordings";
import type { Recording } from "../../model/server/recordings";
import { plural } from "../../model/words";
import type { ListState } from "../state/list-state";
import { Head, Row } from "./row";

export function Rows({ state, grid }: { state: ListState; grid: RefObject<HTMLDivElement | null> }): JSX.Element {
  const rows = state.rows.value ?? [];
  const live = rows.filter((row) => row.live);
  const rest = rows.filter((row) => !row.live);
  const chosen = state.chosen.value;
  const counts = state.site.counts.value;
  const row = (recording: Recording): JSX.Element => {
    const at = chosen.findIndex(({ id }) => id === recording.id);
    return (
      <Row
        key={recording.id}
        recording={recording}
        use={{
          isSelected: state.selected.value === recording.id,
          side: at < 0 ? null : at === 0 ? "A" : "B",
          now: state.site.now.value,
          onSelect: () => {
            state.select(recording.id);
          },
          onChoose: () => {
            state.choose(recording);
          },
        }}
      />
    );
  };
  return (
    <div class="list" ref={grid} role="grid" aria-label="Recordings" aria-rowcount={counts === null || counts.isLeast ? -1 : counts.matched}>
      {live.map(row)}
      <Head />
      {rest.map(row)}
      <More state={state} />
    </div>
  );
}

function More({ state }: { state: ListState }): JSX.Element | null {
  const end = useRef<HTMLButtonElement>(null);
  const next = state.next.value;
  const rows = state.rows.value;
  useEffect(() => {
    if (end.current === null) return undefined;
    const watch = new IntersectionObserver(
      (seen) => {
        if (seen.some(({ isIntersecting }) => isIntersecting)) void state.more();
      },
      { root: end.current.closest(".list"), rootMargin: "200px" },
    );
    watch.observe(end.current);
    return () => {
      watch.disconnect();
    };
    // A search that looks at the same part of the list as the one before has the same cursor.
  }, [next, rows, state]);
  if (next === null) return null;
  const counts = state.site.counts.value;
  // None are left to count where some were pushed since.
  const left = counts === null || counts.isLeast ? 0 : counts.matched - (rows?.length ?? 0);
  const looked = state.looked.value;
  return (
    <button type="button" class="link more-rows" ref={end} data-more onClick={() => void state.more()}>
      {state.isLoadingMore.value ? "Loading…" : left > 0 ? plural(left, "more recording") : "more recordings"}
      {looked === null || counts === null ? null : ` · ${lookedWords(looked, counts.all)}`}
    </button>
  );
}
