// What every view is made of: the samples and frames that the reader keeps, and the tree of them. Never: what is selected in it.
import { computed, signal } from "@preact/signals";
import type { ReadonlySignal, Signal } from "@preact/signals";
import { ALL, keptProfile, pattern } from "../../model/tables/kept";
import type { Kept } from "../../model/tables/kept";
import type { Profile } from "../../model/tables/profile";
import { buildTree } from "../../model/tree/tree";
import type { CallTree } from "../../model/tree/tree";

export interface FilterState {
  readonly kept: Signal<Kept>;
  /** What is searched for: it takes nothing out. */
  readonly query: Signal<string>;
  readonly profile: ReadonlySignal<Profile>;
  readonly tree: ReadonlySignal<CallTree>;
  /** Takes over what is given. Null: done; else why a pattern is none, and all stays as it was. */
  readonly change: (change: Partial<Kept>) => string | null;
}

export function createFilterState(profile: Profile): FilterState {
  const kept = signal<Kept>(ALL);
  const shown = computed(() => keptProfile(profile, kept.value));
  return {
    kept,
    query: signal(""),
    profile: shown,
    tree: computed(() => buildTree(shown.value)),
    change: (change) => {
      const next = { ...kept.value, ...change };
      try {
        pattern(next.focus);
        pattern(next.hide);
      } catch (error) {
        if (error instanceof SyntaxError) return error.message;
        throw error;
      }
      kept.value = next;
      return null;
    },
  };
}
