// What the page shows: which view, by which weight, in which theme. Never: numbers, or what is selected.
import { signal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import type { Weight } from "../../model/units";

/** In the order of the keys 1 to 9. */
export const VIEWS = ["where", "flame", "tree", "sandwich", "source", "functions", "threads", "memory", "gc"] as const;
/** Of two recordings: the key `c`. */
export const ALL_VIEWS = [...VIEWS, "compare"] as const;
export type ViewName = (typeof ALL_VIEWS)[number];
export type Theme = "light" | "dark";

export interface ViewState {
  readonly name: Signal<ViewName>;
  readonly weight: Signal<Weight>;
  readonly theme: Signal<Theme>;
  readonly keysShown: Signal<boolean>;
  /** On narrow screens the panel is a sheet that comes up when asked for. */
  readonly panelShown: Signal<boolean>;
  readonly switchTheme: () => void;
}

export function createViewState(weight: Weight, theme: Theme, first: ViewName): ViewState {
  const themeSignal = signal(theme);
  return {
    name: signal<ViewName>(first),
    weight: signal(weight),
    theme: themeSignal,
    keysShown: signal(false),
    panelShown: signal(false),
    switchTheme: () => {
      themeSignal.value = themeSignal.value === "light" ? "dark" : "light";
    },
  };
}
