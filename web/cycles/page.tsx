// The page of `genba gc cycles`: what the garbage of a process is, each kind of cycles as a graph, and which reference to drop.
import type { JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import type { Picture } from "../model/cycles/kinds";
import { shown } from "../model/words";
import { onKeys, switchTheme } from "../parts/alone";
import { CycleGraph } from "./graph";
import { measured } from "./measured";

const ARGV_CHARACTERS_MAX = 200;
const TEXT_CHARACTERS_MAX = 2_000;

export function CyclesPage({ numbers: { version, argv, about, kinds, more, end } }: { numbers: Picture }): JSX.Element {
  const measure = useMemo(measured, []);
  useEffect(() => onKeys({}), []);
  return (
    <>
      <header>
        <h1 class="mark">genba gc cycles</h1>
        <span class="meta cut"><bdi>{shown(argv.join(" "), ARGV_CHARACTERS_MAX)}</bdi></span>
        <span class="grow" />
        <button type="button" class="plain" onClick={switchTheme}>Theme</button>
      </header>
      <main class="alone">
        <section data-about><pre>{about.trimEnd()}</pre></section>
        {kinds.map(({ title, graph, moreReferences, noShape, held, advice }, place) => (
          <section key={place} data-kind>
            <h2>{title}</h2>
            {noShape === null ? <CycleGraph graph={graph} measure={measure} /> : <p>{noShape}</p>}
            {moreReferences === null ? null : <p class="quiet">{moreReferences}</p>}
            {held === null ? null : <p class="quiet">{held}</p>}
            {advice === null ? null : <p data-advice>Break it: <bdi>{shown(advice, TEXT_CHARACTERS_MAX)}</bdi></p>}
          </section>
        ))}
        {more === null ? null : <section data-more><p>{more} (--limit 0 shows all)</p></section>}
        <section data-end><pre>{end.trimEnd()}</pre></section>
      </main>
      <footer>
        <span>genba {version}</span>
        <span class="grow" />
        <span class="keys"><kbd>t</kbd> theme</span>
      </footer>
    </>
  );
}
