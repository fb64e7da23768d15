// What the page shows: which view, by which weight, in which theme. Never: numbers, or what is selected.
import { signal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import type { Weight } from "../../model/units";

/** In the order of the keys 1 to 9. */
export const VIEWS = ["where", "flame", "tree", "sandwich", "source", "functions", "threads", "memory", "gc"] as const;
export type ViewName = (typeof VIEWS)[number];
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

export function createViewState(weight: Weight, theme: Theme): ViewState {
  const themeSignal = signal(theme);
  return {
    name: signal<ViewName>("where"),
    weight: signal(weight),
    theme: themeSignal,
    keysShown: signal(false),
    panelShown: signal(false),
    switchTheme: () => {
      themeSignal.value = themeSignal.value === "light" ? "dark" : "light";
    },
  };
}
