// From whom a page that follows its recording hears of more: the server's events, or a word that is asked for beside the page (`genba view`).
// Owns: both sources, when to ask, and how soon a page may reload. Never: shows or reloads anything (follow.ts does).
/** `quiet`: nothing has come for a while. Behind `sealed` and `gone` comes nothing. */
export type News = "grown" | "quiet" | "sealed" | "gone";

export interface Source {
  /** Whose page it is: another recording has another one. */
  readonly id: string;
  /** Whether it is sure that more will come, before something has. */
  readonly isLive: boolean;
  /** After the page's own beginning. */
  readonly reloadMs: number;
  /** What it means when the source is gone. */
  readonly goneWords: string;
  /** `hear` is never called before this has returned, nor after the end. */
  readonly open: (hear: (news: News) => void) => Hearing;
}

export interface Hearing {
  /** Whether the page can be loaded again. If it cannot, a reload would show the browser's own error page. */
  readonly canReload: () => Promise<boolean>;
  readonly close: () => void;
}

const RELOAD_MS = 5_000;
/** A page that takes long to make is made seldom: at most a tenth of the time goes into it. */
const TIMES_MADE = 10;
const ASK_MS = 1_000;
const ANSWER_MS = 10_000;
/** A tunnel may break for a moment. */
const FAILURES_MAX = 3;
/** A program that runs writes several times a second (crates/agent), and the command once more at its end. */
const QUIET_MS = 60_000;
/** What genba view says of files that are not there now. */
const MISSING = "-";

/** Null: the page is of no recording that can be followed. `told`: the element that crates/page puts beside the script for `genba view`. */
export function source(place: Location, told: DOMStringMap | undefined): Source | null {
  const { state } = told ?? {};
  if (state !== undefined) return place.protocol === "file:" ? null : askedSource(place, state, Number(told?.["madeMs"] ?? 0));
  const id = /^\/r\/([^/]+)/.exec(place.pathname)?.[1];
  return id === undefined ? null : eventSource(id);
}

function eventSource(id: string): Source {
  const open: Source["open"] = (hear) => {
    const events = new EventSource(`/api/recordings/${id}/events`);
    const close = (): void => {
      events.close();
    };
    // The server begins each stream with what the page shows already, also when the browser has connected again.
    let known: string | null = null;
    events.addEventListener("grown", ({ data }: MessageEvent<string>) => {
      const isNews = known !== null && known !== data;
      known = data;
      if (isNews) hear("grown");
    });
    for (const end of ["sealed", "gone"] as const) {
      events.addEventListener(end, () => {
        close();
        hear(end);
      });
    }
    return { canReload: () => Promise.resolve(true), close };
  };
  return { id, isLive: true, reloadMs: RELOAD_MS, goneWords: "deleted", open };
}

/** Nobody is told anything while the tab is hidden: nothing is asked then. */
function askedSource({ pathname, search }: Location, shown: string, madeMs: number): Source {
  const address = `${pathname.replace(/\/$/, "")}/state${search}`;
  const open: Source["open"] = (hear) => {
    let [isOver, failures, last, grownAt] = [false, 0, shown, performance.now()];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const close = (): void => {
      isOver = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", next);
    };
    const isThere = async (): Promise<boolean> => {
      const now = await asked(address);
      if (isOver) return false;
      failures = now === null ? failures + 1 : 0;
      if (now === "" || failures === FAILURES_MAX) {
        close();
        hear("gone");
        return false;
      }
      const isNew = now !== null && now !== MISSING && now !== last;
      if (isNew) {
        [last, grownAt] = [now, performance.now()];
        hear("grown");
      } else if (performance.now() - grownAt > QUIET_MS) hear("quiet");
      return now !== null && now !== MISSING;
    };
    const ask = async (): Promise<void> => {
      await isThere();
      next();
    };
    const next = (): void => {
      clearTimeout(timer);
      if (!isOver && !document.hidden) timer = setTimeout(() => void ask(), ASK_MS);
    };
    document.addEventListener("visibilitychange", next);
    next();
    return { canReload: isThere, close };
  };
  return { id: `${pathname}${search}`, isLive: false, reloadMs: Math.max(RELOAD_MS, TIMES_MADE * madeMs), goneWords: "genba view has ended", open };
}

/** Null: no answer. Empty: somebody else answers there, or none that knows the page. */
async function asked(address: string): Promise<string | null> {
  try {
    const answer = await fetch(address, { cache: "no-store", signal: AbortSignal.timeout(ANSWER_MS) });
    return answer.ok ? (await answer.text()).trim() : "";
  } catch (error) {
    if (error instanceof TypeError || error instanceof DOMException) return null;
    throw error;
  }
}
