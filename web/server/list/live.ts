// Keeps the rows of live recordings as they are now: by events of the first few, and by reading the list anew for the rest.
// Never: does anything while nobody sees the page.
import { effect } from "@preact/signals";
import { follow } from "../api/events";
import type { ListState } from "../state/list-state";

/** A browser keeps six connections to a server without TLS, for all its tabs together. */
const FOLLOWED_MAX = 2;
const POLL_MS = 5_000;
/** New recordings of others appear this often. */
const POLL_REST_MS = 20_000;

export function keepLive(state: ListState): () => void {
  const followed = new Map<string, () => void>();
  const refused = new Set<string>();
  let isHidden = document.hidden;
  let polled = performance.now();

  const adjust = (): void => {
    const live = isHidden ? [] : (state.rows.value ?? []).filter((row) => row.live && !refused.has(row.id)).slice(0, FOLLOWED_MAX);
    const wanted = new Set(live.map(({ id }) => id));
    for (const [id, stop] of followed) {
      if (wanted.has(id)) continue;
      stop();
      followed.delete(id);
    }
    for (const id of wanted) {
      if (followed.has(id)) continue;
      const stop = follow(id, {
        onGrown: (bytes, facts) => {
          state.grow(id, bytes, facts);
        },
        onEnd: () => void state.reread(id),
        onFailed: () => {
          refused.add(id);
          adjust();
        },
      });
      followed.set(id, stop);
    }
  };
  const poll = (): void => {
    if (isHidden) return;
    const live = (state.rows.value ?? []).filter((row) => row.live).length;
    if (performance.now() - polled < (live > followed.size ? POLL_MS : POLL_REST_MS)) return;
    polled = performance.now();
    void state.refresh();
  };
  const onVisibility = (): void => {
    isHidden = document.hidden;
    adjust();
    poll();
  };

  const stopEffect = effect(adjust);
  const timer = setInterval(poll, POLL_MS / 5);
  document.addEventListener("visibilitychange", onVisibility);
  return () => {
    stopEffect();
    clearInterval(timer);
    document.removeEventListener("visibilitychange", onVisibility);
    for (const stop of followed.values()) stop();
  };
}
