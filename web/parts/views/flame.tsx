// The call tree alone.
import type { JSX } from "preact";
import { Icicle } from "../icicle";
import type { PageState } from "../page-state";
import { pictureOf } from "../picture";

export function FlameView({ state, onPainted }: { state: PageState; onPainted: () => void }): JSX.Element {
  return <Icicle picture={pictureOf(state)} onPainted={onPainted} />;
}
