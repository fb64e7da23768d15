// The accounting, always in view, and what the colours mean. It turns to the warning colour when a law is strained, with words
// where no warning has them.
import type { JSX } from "preact";
import type { Tint } from "../../model/tint";
import { accountingWords, plural, rareWords } from "../../model/words";
import type { PageState } from "../state/page-state";
import { KeysButton } from "./buttons";
import { Folded } from "./narrow";

const LEGEND: readonly [Tint, string][] = [
  ["own", "your code"],
  ["lib", "libraries"],
  ["interp", "interpreter"],
  ["ext", "extensions"],
  ["libc", "libc"],
  ["gc", "gc"],
  ["gil", "waiting for GIL"],
  ["wait", "waiting"],
];

export function Footer({ state }: { state: PageState }): JSX.Element {
  const { profile, rare } = state.recording;
  const { accounting, clocks, notFollowed, processes, warnings } = profile;
  const words = accountingWords(accounting, clocks, processes.some((process) => process.imported !== null), warnings);
  return (
    <footer>
      <span class={words.isStrained ? "accounting strained" : "accounting"} data-accounting>
        <span>{words.ticks}</span>
        <span>{words.covered}</span>
        {notFollowed === null ? null : <span>{notFollowed}</span>}
        {words.strains.map((strain) => (
          <span key={strain}>{strain}</span>
        ))}
      </span>
      {rare === null ? null : <span title="genba html --all-samples keeps each of them">{rareWords(rare, profile, state.view.weight.value)}</span>}
      <span class="grow" />
      <Folded words={plural(LEGEND.length, "colour")}>
        <span class="legend">
          {LEGEND.map(([tint, name]) => (
            <span key={tint}>
              <i class={`swatch tint-${tint}`} />
              {name}
            </span>
          ))}
          <span>
            <i class="swatch inferred" />
            inferred
          </span>
        </span>
      </Folded>
      <KeysButton view={state.view} />
    </footer>
  );
}
