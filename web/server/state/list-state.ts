// The list: what was asked for, the rows that came, the selected one and those chosen to compare. Filters are in the address, the selection in the
// browser's history beside it: a reload and the back button show the same.
// Never: decides what matches or in which order; the server does.
import { batch, signal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import { listAddress, takeListAddress } from "../../model/server/addresses";
import type { Asked } from "../../model/server/addresses";
import { isBehind } from "../../model/server/recordings";
import type { Chip, Facts, Listed, Recording } from "../../model/server/recordings";
import { isAway, Problem, problemFrom } from "../api/ask";
import { readRecording, readRecordings } from "../api/requests";
import type { Counts, Site } from "./site";

const PAGE = 50;
const PAGE_MAX = 200;
const TYPING_MS = 250;
const AWAY_MS = 5_000;

export interface ListState {
  readonly site: Site;
  readonly asked: Signal<Asked>;
  /** What is in the search box; ahead of `asked` while somebody types. */
  readonly typed: Signal<string>;
  /** Null: not loaded yet. Live ones first. */
  readonly rows: Signal<readonly Recording[] | null>;
  readonly chips: Signal<readonly Chip[]>;
  readonly next: Signal<string | null>;
  /** How many the server looked at before `next`. Null: a page looks at all that there are, or nothing is behind it. */
  readonly looked: Signal<number | null>;
  readonly problem: Signal<Problem | null>;
  readonly isLoadingMore: Signal<boolean>;
  readonly selected: Signal<string | null>;
  /** At most two, the older one first. */
  readonly chosen: Signal<readonly Recording[]>;
  readonly panelShown: Signal<boolean>;
  readonly type: (query: string) => void;
  /** The next letters are a step of their own for the back button. */
  readonly settle: () => void;
  readonly search: (asked: Asked) => void;
  readonly select: (id: string | null) => void;
  readonly choose: (recording: Recording) => void;
  readonly swap: () => void;
  readonly clear: () => void;
  readonly more: () => Promise<void>;
  readonly refresh: () => Promise<void>;
  readonly put: (recording: Recording) => void;
  readonly grow: (id: string, bytes: number, facts: Facts | null) => void;
  /** Reads one recording anew; one that is gone leaves the list. */
  readonly reread: (id: string) => Promise<void>;
  readonly drop: (id: string) => void;
}

export function createListState(site: Site): ListState {
  const asked = signal(takeListAddress(location.search));
  const typed = signal(asked.value.query);
  const rows = signal<readonly Recording[] | null>(null);
  const chips = signal<readonly Chip[]>([]);
  const next = signal<string | null>(null);
  const looked = signal<number | null>(null);
  const problem = signal<Problem | null>(null);
  const isLoadingMore = signal(false);
  const selected = signal<string | null>(null);
  const chosen = signal<readonly Recording[]>([]);
  const panelShown = signal(false);
  let running = new AbortController();
  // Of the load whose rows are there: their cursor is none for what is asked since.
  let taken: AbortSignal | null = null;
  // A server of another version knows no cursor of the one before: the list begins anew, once until a cursor is taken.
  let isAnew = false;
  let typing: ReturnType<typeof setTimeout> | undefined;
  // Of a live row that grew since, as the server listed it: the list's order is of that time.
  const asListed = new WeakMap<Recording, Recording>();

  const takeNext = (listed: Listed): void => {
    next.value = listed.next;
    looked.value = listed.looked;
  };
  const count = (listed: Listed): void => {
    site.counts.value = countedOn(listed, rows.value?.length ?? 0, next.value === null);
  };
  const take = (listed: Listed, kept: readonly Recording[]): void => {
    batch(() => {
      const all = new Map([...listed.recordings, ...kept].map((row) => [row.id, row]));
      for (const row of listed.recordings) all.set(row.id, row);
      rows.value = inOrder([...all.values()]);
      chips.value = listed.chips;
      count(listed);
      problem.value = null;
      chosen.value = chosen.value.map((row) => all.get(row.id) ?? row);
      if (selected.value === null || !all.has(selected.value)) selected.value = firstId(rows.value);
    });
  };
  const fail = (error: unknown): void => {
    const found = problemFrom(error);
    if (found !== null) problem.value = found;
  };
  /** As many as there are already, so that the selected one stays. */
  const limitHere = (): number => Math.min(PAGE_MAX, Math.max(PAGE, rows.value?.length ?? 0));
  const load = async (limit = PAGE): Promise<void> => {
    running.abort();
    running = new AbortController();
    const { signal } = running;
    try {
      const listed = await readRecordings(asked.value, { limit, signal });
      if (isStale(signal)) return;
      batch(() => {
        taken = signal;
        takeNext(listed);
        take(listed, []);
      });
    } catch (error) {
      fail(error);
    }
  };
  const isBusy = (): boolean => isLoadingMore.value || problem.value !== null;
  const refresh = async (): Promise<void> => {
    const { signal } = running;
    if (isBusy()) return;
    try {
      const limit = limitHere();
      const listed = await readRecordings(asked.value, { limit, signal });
      if (isStale(signal) || isBusy()) return;
      // What was found behind the place that the server reached stays. Those before it that were not found again are gone, or match no more.
      const beyond = (rows.value ?? []).filter((row) => isBehind(asListed.get(row) ?? row, asked.value.sort, listed.reached));
      // It looked at a part of the list only: the place to go on from stays, too.
      const isPart = listed.next !== null && listed.recordings.length < limit;
      batch(() => {
        if (beyond.length === 0 && !isPart) takeNext(listed);
        take(listed, beyond);
      });
    } catch (error) {
      fail(error);
    }
  };
  const remember = (): void => {
    history.replaceState({ selected: selected.value, chosen: chosen.value.map(({ id }) => id) }, "");
  };
  const restore = (): void => {
    const state: unknown = history.state;
    if (typeof state !== "object" || state === null) return;
    if ("selected" in state && typeof state.selected === "string") selected.value = state.selected;
    if ("chosen" in state && Array.isArray(state.chosen)) void restoreChosen(state.chosen.filter((id) => typeof id === "string").slice(0, 2));
  };
  const restoreChosen = async (ids: readonly string[]): Promise<void> => {
    try {
      const found = await Promise.all(ids.map(readRecording));
      if (chosen.value.length === 0) chosen.value = found;
    } catch (error) {
      // One that was deleted since is chosen no more.
      if (problemFrom(error) !== null) remember();
    }
  };
  const search = (to: Asked, how: "push" | "replace" = "push"): void => {
    clearTimeout(typing);
    typed.value = to.query;
    const query = to.query.trim();
    if (query === asked.value.query && to.sort === asked.value.sort && problem.value === null) return;
    const address = listAddress({ query, sort: to.sort });
    if (how === "push") history.pushState(history.state, "", address);
    else history.replaceState(history.state, "", address);
    asked.value = { query, sort: to.sort };
    void load();
  };

  restore();
  void load();
  window.addEventListener("popstate", () => {
    asked.value = takeListAddress(location.search);
    typed.value = asked.value.query;
    void load();
  });
  setInterval(() => {
    if (isAway.value && problem.value !== null) void load();
  }, AWAY_MS);

  // Typing is one step back, however many letters it has.
  let isTypingStep = false;
  const change = (recordings: readonly Recording[]): void => {
    rows.value = inOrder(recordings);
  };
  return {
    site, asked, typed, rows, chips, next, looked, problem, isLoadingMore, selected, chosen, panelShown, refresh,
    search: (to) => {
      isTypingStep = false;
      search(to);
    },
    type: (query) => {
      typed.value = query;
      clearTimeout(typing);
      typing = setTimeout(() => {
        search({ query, sort: asked.value.sort }, isTypingStep ? "replace" : "push");
        isTypingStep = true;
      }, TYPING_MS);
    },
    settle: () => {
      isTypingStep = false;
    },
    select: (id) => {
      selected.value = id;
      remember();
    },
    choose: (recording) => {
      if (recording.state === "open") return;
      const others = chosen.value.filter(({ id }) => id !== recording.id);
      const isOff = others.length < chosen.value.length;
      chosen.value = isOff ? others : [...others.slice(-1), recording].sort((a, b) => a.created - b.created);
      remember();
    },
    swap: () => {
      chosen.value = [...chosen.value].reverse();
      remember();
    },
    clear: () => {
      chosen.value = [];
      remember();
    },
    more: async () => {
      const cursor = next.value;
      const { signal } = running;
      if (cursor === null || isLoadingMore.value || signal !== taken) return;
      isLoadingMore.value = true;
      try {
        const listed = await readRecordings(asked.value, { limit: PAGE, cursor, signal });
        if (isStale(signal)) return;
        isAnew = false;
        const known = new Set(rows.value?.map(({ id }) => id));
        batch(() => {
          takeNext(listed);
          change([...(rows.value ?? []), ...listed.recordings.filter(({ id }) => !known.has(id))]);
          // Of a search each page repeats what its first one counted: a refresh since then counted anew.
          const { matched, isLeast } = (asked.value.query === "" ? null : site.counts.value) ?? listed;
          count({ ...listed, matched, isLeast });
          // The pages before may have had none.
          if (selected.value === null) selected.value = firstId(rows.value ?? []);
        });
      } catch (error) {
        if (isAnew || !(error instanceof Problem && error.status === 400)) fail(error);
        else {
          isAnew = true;
          void load(limitHere());
        }
      } finally {
        isLoadingMore.value = false;
      }
    },
    put: (recording) => {
      change((rows.value ?? []).map((row) => (row.id === recording.id ? recording : row)));
      chosen.value = chosen.value.map((row) => (row.id === recording.id ? recording : row));
    },
    grow: (id, bytes, facts) => {
      change((rows.value ?? []).map((row) => {
        if (row.id !== id) return row;
        const grown = { ...row, bytes, facts: facts ?? row.facts };
        asListed.set(grown, asListed.get(row) ?? row);
        return grown;
      }));
    },
    reread: async (id) => {
      try {
        const recording = await readRecording(id);
        change((rows.value ?? []).map((row) => (row.id === id ? recording : row)));
      } catch (error) {
        if (problemFrom(error) !== null) void refresh();
      }
    },
    drop: (id) => {
      batch(() => {
        const before = rows.value ?? [];
        const at = before.findIndex((row) => row.id === id);
        change(before.filter((row) => row.id !== id));
        chosen.value = chosen.value.filter((row) => row.id !== id);
        if (selected.value === id) selected.value = (rows.value?.[at] ?? rows.value?.[at - 1])?.id ?? null;
        remember();
      });
      void refresh();
    },
  };
}

/** Somebody asked for something else since. */
function isStale({ aborted }: AbortSignal): boolean {
  return aborted;
}

/** The one that is selected by itself. */
function firstId(recordings: readonly Recording[]): string | null {
  return (recordings.find(({ live }) => !live) ?? recordings[0])?.id ?? null;
}

/** The server counts no further than the first part of a long list; as many as are there match, and at its end no others do. */
function countedOn(counts: Counts, found: number, isAll: boolean): Counts {
  return counts.isLeast && found >= counts.matched ? { ...counts, matched: found, isLeast: !isAll } : counts;
}

/** Live ones first; among themselves as the server sorted them. */
function inOrder(recordings: readonly Recording[]): readonly Recording[] {
  return [...recordings.filter(({ live }) => live), ...recordings.filter(({ live }) => !live)];
}
