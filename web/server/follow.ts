// On the viewer's page of a live recording: reads the page anew while the recording grows. The page's state is in its address and survives.
// Owns: a switch in the corner. Never: more than one reload in five seconds, or one while somebody types or holds the pointer down.
//
//   state    | grown, or sealed              | switch
//   follow   | waits, then reloads → follow  | → paused
//   paused   | says that there is more       | → follow; reloads when there is more
//   ended    | (sealed, and reloaded once; or gone) nothing
export {};

const RELOAD_MS = 5_000;
const AGAIN_MS = 250;
const KEY = "genba follow";

type News = "none" | "grown" | "sealed" | "gone";

const id = document.currentScript?.dataset["recording"] ?? /^\/r\/([^/]+)/.exec(location.pathname)?.[1];
if (id !== undefined) start(id);

function start(recording: string): void {
  let isFollowing = sessionStorage.getItem(KEY) !== `paused ${recording}`;
  let news: News = "none";
  const ended = `${KEY} ended ${recording}`;
  // The reload that the end asked for came before the server had closed the recording.
  if (sessionStorage.getItem(ended) !== null) return;

  const control = corner();
  const source = new EventSource(`/api/recordings/${recording}/events`);
  const show = (): void => {
    const words = { none: isFollowing ? "following" : "paused", grown: isFollowing ? "following" : "paused: there is more", sealed: "ended", gone: "deleted" }[news];
    control.words.textContent = `live · ${words}`;
    control.button.textContent = isFollowing ? "Pause" : "Follow";
    control.button.hidden = news === "gone";
    control.place.dataset["follow"] = news === "none" || news === "grown" ? (isFollowing ? "follow" : "paused") : news;
  };
  const reloadSoon = (): void => {
    if (!isFollowing || news === "none" || news === "gone") return;
    if (performance.now() < RELOAD_MS || isBusy()) {
      setTimeout(reloadSoon, Math.max(AGAIN_MS, RELOAD_MS - performance.now()));
      return;
    }
    if (news === "sealed") sessionStorage.setItem(ended, "true");
    isFollowing = false;
    source.close();
    location.reload();
  };
  const hear = (what: News): void => {
    // Nothing comes after the end.
    const isNew = news === "none";
    if (news === "none" || news === "grown") news = what;
    if (what === "sealed" || what === "gone") source.close();
    show();
    if (isNew) reloadSoon();
  };
  for (const what of ["grown", "sealed", "gone"] as const) {
    source.addEventListener(what, () => {
      hear(what);
    });
  }
  control.button.addEventListener("click", () => {
    isFollowing = !isFollowing;
    if (isFollowing) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, `paused ${recording}`);
    show();
    reloadSoon();
  });
  show();
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
  return isHeld || document.hidden || focused instanceof HTMLInputElement || document.querySelector("dialog[open], details[open]") !== null;
}

interface Corner {
  readonly place: HTMLElement;
  readonly words: HTMLElement;
  readonly button: HTMLButtonElement;
}
/** In the colours of the viewer's page, which the page's own style has as tokens. */
function corner(): Corner {
  const place = document.createElement("div");
  place.setAttribute("role", "status");
  place.style.cssText =
    "position:fixed;right:var(--space-4);bottom:calc(2 * var(--space-6) + var(--space-3));z-index:3;display:flex;gap:var(--space-3);align-items:center;padding:var(--space-1) var(--space-3);" +
    "font:var(--small);color:var(--ink);background:var(--sheet);border:var(--hair) solid var(--hot);border-radius:var(--radius)";
  const words = document.createElement("span");
  const button = document.createElement("button");
  button.type = "button";
  button.style.cssText = "font:var(--small);color:var(--accent)";
  place.append(words, button);
  document.body.append(place);
  return { place, words, button };
}
