// The page's state in its address: view, weight, filters, search, selection and zoom. Copying the address shares what is seen; the browser's
// back button undoes a step. Never: the theme, or what the pointer is over.
import { effect } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { ALL, LAYERS } from "../../model/tables/kept";
import type { Kept } from "../../model/tables/kept";
import type { ProcessIndex, ThreadIndex } from "../../model/units";
import { WEIGHTS } from "../../model/units";
import type { PageState } from "./page-state";
import { VIEWS } from "./view";

export function useAddress(state: PageState): void {
  useLayoutEffect(() => {
    const take = (): void => {
      takeAddress(state, location.hash);
    };
    take();
    let written = location.hash;
    const stop = effect(() => {
      const hash = addressOf(state);
      if (hash === written) return;
      written = hash;
      // Typing is one step, however many letters it has.
      if (isTyping()) history.replaceState(null, "", hash);
      else history.pushState(null, "", hash);
    });
    const back = (): void => {
      written = location.hash;
      take();
      written = addressOf(state);
    };
    window.addEventListener("popstate", back);
    return () => {
      stop();
      window.removeEventListener("popstate", back);
    };
  }, [state]);
}

function isTyping(): boolean {
  return document.activeElement instanceof HTMLInputElement;
}

/** Only what is not as it was when the page was opened, so that a plain address stays plain. */
export function addressOf({ view, filters, selection, recording: { profile } }: PageState): string {
  const kept = filters.kept.value;
  const { selected, zoom } = selection.words.value;
  const parts: [string, string][] = [
    ["view", view.name.value === "where" ? "" : view.name.value],
    ["weight", view.weight.value === profile.meta.defaultWeight ? "" : view.weight.value],
    ["show", kept.layers === "both" ? "" : kept.layers],
    ["process", kept.process === null ? "" : `${kept.process}`],
    ["thread", kept.thread === null ? "" : `${kept.thread}`],
    ["focus", kept.focus],
    ["hide", kept.hide],
    ["find", filters.query.value],
    ["at", selected],
    ["zoom", zoom],
  ];
  const words = new URLSearchParams(parts.filter(([, value]) => value !== "")).toString();
  return `#${words}`;
}

/** What is not in it is as at the beginning; what is no answer is left out. */
export function takeAddress({ view, filters, selection, recording: { profile } }: PageState, hash: string): void {
  const words = new URLSearchParams(hash.slice(1));
  if (hash === "" || hash === "#") return;
  const word = (name: string): string => words.get(name) ?? "";
  const index = (name: string, rows: number): number | null => (/^\d+$/.test(word(name)) && Number(word(name)) < rows ? Number(word(name)) : null);
  const kept: Kept = {
    layers: LAYERS.find((at) => at === word("show")) ?? ALL.layers,
    process: index("process", profile.processes.length) as ProcessIndex | null,
    thread: index("thread", profile.threads.length) as ThreadIndex | null,
    focus: word("focus"),
    hide: word("hide"),
  };
  if (filters.change(kept) !== null) filters.change({ ...kept, focus: "", hide: "" });
  view.weight.value = WEIGHTS.find((at) => at === word("weight")) ?? profile.meta.defaultWeight;
  filters.query.value = word("find");
  selection.restore(word("at"), word("zoom"));
  view.name.value = VIEWS.find((at) => at === word("view")) ?? "where";
}
