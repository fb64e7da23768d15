// The page of `genba gc cycles`: what the garbage of a process is, each kind of cycles as a graph, and which reference to drop.
import type { JSX } from "preact";
import { useLayoutEffect, useMemo } from "preact/hooks";
import type { Picture } from "../model/cycles/kinds";
import { shown } from "../model/words";
import { onKeys, switchTheme } from "../parts/alone";
import { KindSection } from "./kind";
import { measured } from "./measured";

const ARGV_CHARACTERS_MAX = 200;

export function CyclesPage({ numbers: { version, argv, about, kinds, more, end } }: { numbers: Picture }): JSX.Element {
  const measure = useMemo(measured, []);
  // Before the first picture, as in the viewer.
  useLayoutEffect(() => onKeys({}), []);
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
        {kinds.map((kind, place) => <KindSection key={place} kind={kind} measure={measure} />)}
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
