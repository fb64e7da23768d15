// The view that is chosen: one file each below views/.
import type { JSX } from "preact";
import type { PageState } from "./state/page-state";
import type { ViewName } from "./state/view";
import { CompareView } from "./views/compare";
import { FlameView } from "./views/flame";
import { Functions } from "./views/functions";
import { GcView } from "./views/gc/gc";
import { MemoryView } from "./views/memory";
import { SandwichView } from "./views/sandwich";
import { SourceView } from "./views/source";
import { ThreadsView } from "./views/threads";
import { TreeView } from "./views/tree";
import { WhereView } from "./views/where";

type View = (at: { state: PageState; onPainted: () => void }) => JSX.Element;

const VIEW_OF: Readonly<Record<ViewName, View>> = {
  where: WhereView, flame: FlameView, tree: TreeView, sandwich: SandwichView, source: SourceView, functions: Functions, threads: ThreadsView, memory: MemoryView, gc: GcView, compare: CompareView,
};

export function View({ state, onPainted }: { state: PageState; onPainted: () => void }): JSX.Element {
  const Shown = VIEW_OF[state.view.name.value];
  return <Shown key={state.view.name.value} state={state} onPainted={onPainted} />;
}
