// A page of a comparison: its two recordings take turns. What is open on one side is open on the other.
import type { JSX } from "preact";
import { Page } from "../page";
import type { ComparisonState, Side } from "../state/comparison";
import type { PageState } from "../state/page-state";

export type SideStates = Readonly<Record<Side, PageState>>;

export function Sides({ comparison, states, onPainted }: { comparison: ComparisonState; states: SideStates; onPainted: () => void }): JSX.Element {
  const side = comparison.side.value;
  return <Page key={side} state={states[side]} onPainted={onPainted} />;
}
