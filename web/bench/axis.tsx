// The numbers at the left of a picture, and the lines that they name.
import type { JSX } from "preact";
import { placeIn } from "../model/bench/picture";
import type { Range } from "../model/bench/picture";
import { timeTicks } from "../model/bench/units";
import type { Unit } from "../model/bench/units";

export function TimesAxis({ ticks, range, unit }: { ticks: readonly number[]; range: Range; unit: Unit }): JSX.Element {
  const texts = timeTicks(ticks, unit);
  return (
    <div data-axis="times" aria-hidden="true">
      {ticks.map((tick, at) => <span key={tick} style={{ bottom: `${placeIn(range, tick) * 100}%` }}>{texts[at]}</span>)}
    </div>
  );
}
