// The call tree alone.
import type { JSX } from "preact";
import { Icicle } from "../icicle/icicle";
import type { PageState } from "../state/page-state";
import { pictureOf } from "../icicle/picture";

export function FlameView({ state, onPainted }: { state: PageState; onPainted: () => void }): JSX.Element {
  return <Icicle picture={pictureOf(state)} onPainted={onPainted} />;
}
