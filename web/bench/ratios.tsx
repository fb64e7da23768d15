// How many times as long each command takes: a dot with its interval, and where equal commands would be.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { placeOfRatio, ratioRange, ratioTicks } from "../model/bench/picture";
import type { RatioRow } from "../model/bench/picture";
import type { Ratio } from "../model/bench/session";
import { shown } from "../model/words";
import { NAME_CHARACTERS_MAX, Name } from "./name";

const TICKS = 7;

export function Ratios({ rows, reference }: { rows: readonly RatioRow[]; reference: string | null }): JSX.Element {
  const range = useMemo(() => ratioRange(rows), [rows]);
  const ticks = useMemo(() => ratioTicks(range, TICKS), [range]);
  const along = (ratio: number): string => `${placeOfRatio(range, ratio) * 100}%`;
  return (
    <figure class="ratios" data-ratios>
      {rows.map(({ name, kind, ratio }, place) => (
        <div key={place} class="ratio" data-kind={kind}>
          <span class="compared" title={shown(name, NAME_CHARACTERS_MAX)}>
            <code class="cut"><Name name={name} /></code>
            {kind === "turns" ? null : <small class="cut">{kindWords(kind, ratio, reference)}</small>}
          </span>
          <span class={ratio.isShown ? "track shown" : "track"} aria-hidden="true">
            <i class="equal" style={{ left: along(1) }} />
            {ratio.interval === null ? null : <i class="interval" style={{ left: along(ratio.interval[0]), width: `calc(${along(ratio.interval[1])} - ${along(ratio.interval[0])})` }} />}
            {ratio.ratio > 0 ? <i class="dot" style={{ left: along(ratio.ratio) }} /> : null}
          </span>
          <span class="figure">{ratioWords(ratio)}</span>
        </div>
      ))}
      <div class="ratio" aria-hidden="true">
        <span />
        <span class="ticks">
          {ticks.map((tick) => <i key={tick} style={{ left: along(tick) }}>{String(Number(tick.toPrecision(6)))}</i>)}
        </span>
      </div>
      <figcaption>
        Times as long{reference === null ? "" : " as "}{reference === null ? null : <code><Name name={reference} /></code>}, on a logarithmic axis. A grey interval contains 1, so no difference is shown.
      </figcaption>
    </figure>
  );
}

function kindWords(kind: "beyond" | "against", { to }: Ratio, reference: string | null): string {
  if (kind === "against") return "compared with itself in earlier sessions";
  return to === reference ? "without the start-up" : `without the start-up, compared with ${shown(to ?? "", NAME_CHARACTERS_MAX)}`;
}

function ratioWords({ ratio, interval, isShown }: Ratio): string {
  if (interval === null) return `${digits(ratio)} (too few runs)`;
  return `${digits(ratio)} (${digits(interval[0])} … ${digits(interval[1])})${isShown ? "" : ", no difference shown"}`;
}

/** As the screen has them: near 1 the third digit counts. */
function digits(ratio: number): string {
  if (ratio === Infinity) return "inf";
  return ratio.toFixed(ratio >= 0.9 && ratio < 1.1 ? 3 : 2);
}
