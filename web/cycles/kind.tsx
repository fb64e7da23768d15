// A kind of cycles: its graph, what a collection frees with it, and which reference to drop.
import type { JSX } from "preact";
import type { Measure } from "../model/cycles/drawing";
import type { Kind } from "../model/cycles/kinds";
import { shown } from "../model/words";
import { CycleGraph } from "./graph";

const TEXT_CHARACTERS_MAX = 2_000;

export function KindSection({ kind: { title, graph, moreReferences, noShape, held, advice }, measure }: { kind: Kind; measure: Measure }): JSX.Element {
  return (
    <section data-kind>
      <h2>{title}</h2>
      {noShape === null ? <CycleGraph graph={graph} measure={measure} /> : <p>{noShape}</p>}
      {moreReferences === null ? null : <p class="quiet">{moreReferences}</p>}
      {held === null ? null : <p class="quiet">{held}</p>}
      {advice === null ? null : <p data-advice>Break it: <bdi>{shown(advice, TEXT_CHARACTERS_MAX)}</bdi></p>}
    </section>
  );
}
