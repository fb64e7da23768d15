// What the page shows: which view, by which weight, in which theme. Never: numbers, or what is selected.
import { signal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import type { Grouping } from "../../model/groups";
import type { HeapPair } from "../../model/time/heaps";
import type { Weight } from "../../model/units";

/** In the order of the keys 1 to 9. */
export const VIEWS = ["where", "flame", "tree", "sandwich", "source", "functions", "threads", "memory", "gc"] as const;
/** Of two recordings: the key `c`. */
export const ALL_VIEWS = [...VIEWS, "compare"] as const;
export type ViewName = (typeof ALL_VIEWS)[number];
/** How the boxes of a call tree stand: by weight, in the order of time, or upside down, callees above their callers. */
export const ORDERS = ["heaviest", "time", "inverted"] as const;
export type Order = (typeof ORDERS)[number];
/** Which orders a view of the call tree has; the others have the first only. */
export const ORDERS_OF: Partial<Readonly<Record<ViewName, readonly Order[]>>> = { flame: ORDERS, tree: ["heaviest", "inverted"] };
export const SORTS = ["total", "self"] as const;
export type Sort = (typeof SORTS)[number];
/** Of Where, Compare and Threads: a part is shown until the reader asks for the rest. Also words of the address. */
export type List = "where" | "changes" | "functions" | "threads" | "idle";
export type Theme = "light" | "dark";

export interface ViewState {
  readonly name: Signal<ViewName>;
  readonly weight: Signal<Weight>;
  /** What the reader chose, for the views that have it. */
  readonly order: Signal<Order>;
  /** Which heaps the reader compares; null: the first and the last. */
  readonly heaps: Signal<HeapPair | null>;
  /** What the rows of the table are. */
  readonly by: Signal<Grouping>;
  /** By what each view's rows are sorted, under its name; none: as the view does by itself. */
  readonly sort: Signal<Readonly<Record<string, Sort | null>>>;
  /** The file that was chosen in the source, and the selection's own, instead of which. */
  readonly file: Signal<{ readonly file: string; readonly instead: string | null } | null>;
  /** Whether each is shown whole. */
  readonly lists: Readonly<Record<List, Signal<boolean>>>;
  readonly theme: Signal<Theme>;
  readonly keysShown: Signal<boolean>;
  /** On narrow screens the panel is a sheet that comes up when asked for. */
  readonly panelShown: Signal<boolean>;
  readonly switchTheme: () => void;
}

/** Of the view that is shown. */
export function orderOf({ name, order }: Pick<ViewState, "name" | "order">): Order {
  return ORDERS_OF[name.value]?.find((at) => at === order.value) ?? "heaviest";
}

export function createViewState(weight: Weight, theme: Theme, first: ViewName): ViewState {
  const themeSignal = signal(theme);
  return {
    name: signal<ViewName>(first),
    weight: signal(weight),
    order: signal<Order>("heaviest"),
    heaps: signal<HeapPair | null>(null),
    by: signal<Grouping>("function"),
    sort: signal<Readonly<Record<string, Sort | null>>>({}),
    file: signal<{ file: string; instead: string | null } | null>(null),
    lists: { where: signal(false), changes: signal(false), functions: signal(false), threads: signal(false), idle: signal(false) },
    theme: themeSignal,
    keysShown: signal(false),
    panelShown: signal(false),
    switchTheme: () => {
      themeSignal.value = themeSignal.value === "light" ? "dark" : "light";
    },
  };
}
