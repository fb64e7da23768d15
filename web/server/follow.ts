// On the viewer's page of a live recording, of `genba serve` and of `genba view`: reads the page anew while the recording grows. The page's
// state is in its address and survives.
// Owns: a switch in the corner. Never: more than one reload in five seconds, or one while somebody types or holds the pointer down; asks
// anybody for news (api/news.ts does).
//
//   state    | grown, or sealed              | switch
//   hidden   | → follow                      | is not there
//   follow   | waits, then reloads → follow  | → paused
//   paused   | says that there is more       | → follow; reloads when there is more
//   ended    | (sealed, and reloaded once; or gone) nothing
//
// A page begins hidden where more may come, but need not: until something has, and after a quiet minute.
import { source } from "./api/news";
import type { News, Source } from "./api/news";

const AGAIN_MS = 250;
const KEY = "genba follow";
const GREW = `${KEY} grew`;

const found = source(location, document.querySelector<HTMLElement>("script[data-state]")?.dataset);
if (found !== null) start(found);

function start({ id, isLive, reloadMs, goneWords, open }: Source): void {
  let isFollowing = sessionStorage.getItem(KEY) !== `paused ${id}`;
  let news: Exclude<News, "quiet"> | "none" = "none";
  const ended = `${KEY} ended ${id}`;
  // The reload that the end asked for came before the server had closed the recording.
  if (sessionStorage.getItem(ended) !== null) return;

  let control: Corner | null = null;
  const switched = (): void => {
    isFollowing = !isFollowing;
    if (isFollowing) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, `paused ${id}`);
    show();
    reloadSoon();
  };
  const show = (): void => {
    control ??= corner(switched);
    const words = { none: isFollowing ? "following" : "paused", grown: isFollowing ? "following" : "paused: there is more", sealed: "ended", gone: goneWords }[news];
    control.words.textContent = `live · ${words}`;
    control.button.textContent = isFollowing ? "Pause" : "Follow";
    control.button.hidden = news === "gone";
    control.place.dataset["follow"] = news === "none" || news === "grown" ? (isFollowing ? "follow" : "paused") : news;
  };
  const hide = (): void => {
    sessionStorage.removeItem(GREW);
    control?.place.remove();
    control = null;
  };
  const reloadSoon = (): void => {
    if (!isFollowing || news === "none" || news === "gone") return;
    if (performance.now() < reloadMs || isBusy()) {
      setTimeout(reloadSoon, Math.max(AGAIN_MS, reloadMs - performance.now()));
      return;
    }
    void hearing.canReload().then((canReload) => {
      // Meanwhile the reader may have begun something.
      if (!canReload || isBusy()) setTimeout(reloadSoon, 4 * AGAIN_MS);
      else if (isFollowing) reload();
    });
  };
  const reload = (): void => {
    if (news === "sealed") sessionStorage.setItem(ended, "true");
    isFollowing = false;
    hearing.close();
    location.reload();
  };
  const hearing = open((what) => {
    if (what === "quiet") {
      if (news === "none") hide();
      return;
    }
    // Nothing comes after the end.
    const isNew = news === "none";
    if (news === "none" || news === "grown") news = what;
    if (what === "grown") sessionStorage.setItem(GREW, id);
    if (what !== "gone" || control !== null) show();
    if (isNew) reloadSoon();
  });
  // After a reload of its own the switch is where it was.
  if (isLive || sessionStorage.getItem(GREW) === id) show();
}

let isHeld = false;
addEventListener("pointerdown", () => {
  isHeld = true;
}, true);
for (const end of ["pointerup", "pointercancel"] as const) {
  addEventListener(end, () => {
    isHeld = false;
  }, true);
}

/** A reload would take away what somebody is doing. */
function isBusy(): boolean {
  const focused = document.activeElement;
  // The moment chosen among graphs of cycles is not in the address.
  const held = "dialog[open], details[open], .gc-cycles select:focus";
  return isHeld || document.hidden || focused instanceof HTMLInputElement || document.querySelector(held) !== null;
}

interface Corner {
  readonly place: HTMLElement;
  readonly words: HTMLElement;
  readonly button: HTMLButtonElement;
}
/** In the colours of the viewer's page, which the page's own style has as tokens. */
function corner(onSwitch: () => void): Corner {
  const place = document.createElement("div");
  place.setAttribute("role", "status");
  place.style.cssText =
    "position:fixed;right:var(--space-4);bottom:calc(2 * var(--space-6) + var(--space-3));z-index:3;display:flex;gap:var(--space-3);align-items:center;padding:var(--space-1) var(--space-3);" +
    "font:var(--small);color:var(--ink);background:var(--sheet);border:var(--hair) solid var(--hot);border-radius:var(--radius)";
  const words = document.createElement("span");
  const button = document.createElement("button");
  button.type = "button";
  button.style.cssText = "font:var(--small);color:var(--accent)";
  button.addEventListener("click", onSwitch);
  place.append(words, button);
  document.body.append(place);
  return { place, words, button };
}
