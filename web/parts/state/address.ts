// The page's state in its address: view, weight, filters, search, selection, zoom, and what a view's own switches chose. Copying the address shares what is seen; the browser's
// back button undoes a step. Never: the theme, or what the pointer is over.
import { batch, effect } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { GROUPINGS } from "../../model/groups";
import { ALL, LAYERS } from "../../model/tables/kept";
import type { Kept } from "../../model/tables/kept";
import { binCount } from "../../model/tables/moments";
import type { Range } from "../../model/tables/moments";
import type { Moments } from "../../model/tables/profile";
import type { HeapPair } from "../../model/time/heaps";
import type { ProcessIndex, ThreadIndex } from "../../model/units";
import { weightsOf } from "../../model/tables/totals";
import type { PageState } from "./page-state";
import { SIDES } from "./comparison";
import { ALL_VIEWS, ORDERS, SORTS } from "./view";

export function useAddress(state: PageState): void {
  useLayoutEffect(() => {
    const beginning = addressOf(state);
    let known = "";
    let isTaking = false;
    const take = (): void => {
      isTaking = true;
      takeAddress(state, location.hash.length > 1 ? location.hash : beginning);
      known = addressOf(state);
      isTaking = false;
    };
    take();
    const stop = effect(() => {
      const hash = addressOf(state);
      if (isTaking || hash === known) return;
      known = hash;
      // Typing is one step, however many letters it has.
      if (isTyping()) history.replaceState(null, "", hash);
      else history.pushState(null, "", hash);
    });
    // Also when somebody types into the address.
    window.addEventListener("popstate", take);
    return () => {
      stop();
      window.removeEventListener("popstate", take);
    };
  }, [state]);
}

function isTyping(): boolean {
  return document.activeElement instanceof HTMLInputElement;
}

/** What is as on every page is left out. */
export function addressOf({ view, filters, selection, comparison, firstView, chosenFile, recording: { profile } }: PageState): string {
  const kept = filters.kept.value;
  const { selected, zoom, rows, opened } = selection.words.value;
  const parts: [string, string][] = [
    ["view", view.name.value === firstView ? "" : view.name.value],
    ["side", comparison === null || comparison.side.value === "after" ? "" : comparison.side.value],
    ["change", comparison === null || comparison.zoom.value === 0 ? "" : `${comparison.zoom.value}`],
    ["weight", view.weight.value === profile.meta.defaultWeight ? "" : view.weight.value],
    ["order", view.order.value === "heaviest" ? "" : view.order.value],
    ["heaps", view.heaps.value === null ? "" : heapsWord(view.heaps.value)],
    ["by", view.by.value === "function" ? "" : view.by.value],
    ["sort", view.sort.value[view.name.value] ?? ""],
    ["file", chosenFile.value ?? ""],
    ["show", kept.layers === "both" ? "" : kept.layers],
    ["process", kept.process === null ? "" : `${kept.process}`],
    ["thread", kept.thread === null ? "" : `${kept.thread}`],
    ["recursion", kept.foldsRecursion ? "folded" : ""],
    ["focus", kept.focus],
    ["hide", kept.hide],
    ["time", kept.time === null || profile.moments === null ? "" : timeWord(kept.time, profile.moments)],
    ["find", filters.query.value],
    ["at", selected],
    ["zoom", zoom],
    // No character of these is written as another one.
    ["rows", rows.join("_")],
    ["frames", opened.join("_")],
    ...Object.entries(view.lists).map(([name, isWhole]): [string, string] => [name, isWhole.value ? "whole" : ""]),
  ];
  const words = new URLSearchParams(parts.filter(([, value]) => value !== "")).toString();
  return `#${words}`;
}

/** What is not in it is as at the beginning; what is no answer is left out. */
export function takeAddress({ view, filters, selection, comparison, firstView, chooseFile, recording: { profile, heaps } }: PageState, hash: string): void {
  const words = new URLSearchParams(hash.slice(1));
  const word = (name: string): string => words.get(name) ?? "";
  const boxes = (name: string): string[] => word(name).split("_").filter((at) => at !== "");
  const index = (name: string, rows: number): number | null => (/^\d+$/.test(word(name)) && Number(word(name)) < rows ? Number(word(name)) : null);
  if (comparison !== null) {
    const side = SIDES.find((at) => at === word("side")) ?? "after";
    comparison.zoom.value = index("change", comparison.data.boxes.length) ?? 0;
    if (side !== comparison.side.value) {
      // The other recording's own page takes the address then.
      comparison.side.value = side;
      return;
    }
  }
  const kept: Kept = {
    layers: LAYERS.find((at) => at === word("show")) ?? ALL.layers,
    process: index("process", profile.processes.length) as ProcessIndex | null,
    thread: index("thread", profile.threads.length) as ThreadIndex | null,
    focus: word("focus"),
    hide: word("hide"),
    foldsRecursion: word("recursion") === "folded",
    time: profile.moments === null ? null : rangeOf(word("time"), profile.moments),
  };
  // One step: in between, the address would be one that nobody asked for.
  batch(() => {
    if (filters.change(kept) !== null) filters.change({ ...kept, focus: "", hide: "" });
    view.weight.value = weightsOf(profile).find((at) => at === word("weight")) ?? profile.meta.defaultWeight;
    filters.query.value = word("find");
    view.name.value = ALL_VIEWS.find((at) => at === word("view")) ?? firstView;
    view.order.value = ORDERS.find((at) => at === word("order")) ?? "heaviest";
    view.heaps.value = heapsOf(word("heaps"), heaps?.rows.length ?? 0);
    // Boxes are named in the tree that is on the screen.
    selection.restore({ selected: word("at"), zoom: word("zoom"), rows: boxes("rows"), opened: boxes("frames") });
    for (const [name, isWhole] of Object.entries(view.lists)) isWhole.value = word(name) === "whole";
    view.by.value = GROUPINGS.find((at) => at === word("by")) ?? "function";
    view.sort.value = { ...view.sort.value, [view.name.value]: SORTS.find((at) => at === word("sort")) ?? null };
    chooseFile(profile.sources.find(({ path }) => path === word("file"))?.path ?? null);
  });
}

/** `1200000000..3400000000`: nanoseconds since the recording began, so that a link fits a recording with other bins. */
function timeWord({ first, end }: Range, { binLength }: Moments): string {
  return `${first * binLength}..${end * binLength}`;
}

/** `0..5`, of one heap `5`: rows of the recording's heaps. */
function heapsWord({ before, after }: HeapPair): string {
  return before === null ? `${after}` : `${before}..${after}`;
}

function heapsOf(word: string, rows: number): HeapPair | null {
  const found = /^(?:(\d{1,6})\.\.)?(\d{1,6})$/.exec(word);
  if (found === null) return null;
  const [before, after] = [found[1] === undefined ? null : Number(found[1]), Number(found[2])];
  return after < rows && (before ?? 0) < rows && before !== after ? { before, after } : null;
}

/** Null: no range, or nothing of it is in this recording. */
function rangeOf(word: string, moments: Moments): Range | null {
  const found = /^(\d{1,15})\.\.(\d{1,15})$/.exec(word);
  if (found === null) return null;
  const bins = binCount(moments);
  const first = Math.floor(Number(found[1]) / moments.binLength);
  const end = Math.min(bins, Math.ceil(Number(found[2]) / moments.binLength));
  return first >= end || (first === 0 && end === bins) ? null : { first, end };
}
