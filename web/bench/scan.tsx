// A parameter scan: the mean of each command, with one deviation up and down, over its number.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { placeIn, rangeAround } from "../model/bench/picture";
import type { Scan } from "../model/bench/picture";
import { fittingUnit, tickTexts, timeText } from "../model/bench/units";
import type { Unit } from "../model/bench/units";
import { axisTicks } from "../model/time/axis";
import { shown } from "../model/words";
import { TimesAxis } from "./axis";
import { NAME_CHARACTERS_MAX, Name } from "./name";
import { NO_TIME } from "./runs";

const [WIDTH, HEIGHT] = [1000, 300];
const [TIMES_TICKS, VALUES_TICKS] = [6, 8];

/** `unit`: null for the one that fits the largest mean. */
export function ScanPicture({ scan: { name, points }, unit: asked }: { scan: Scan; unit: Unit | null }): JSX.Element {
  const values = useMemo(() => rangeAround(points.map(({ at }) => at), 1), [points]);
  const times = useMemo(() => rangeAround([0, ...points.flatMap(({ command: { mean, deviation } }) => [mean - (deviation ?? 0), mean + (deviation ?? 0)])], NO_TIME), [points]);
  const unit = asked ?? fittingUnit(times.last);
  const along = (at: number): number => placeIn(values, at) * WIDTH;
  const up = (seconds: number): number => HEIGHT * (1 - placeIn(times, seconds));
  const ticks = axisTicks(times.first, times.last, TIMES_TICKS);
  const numbers = axisTicks(values.first, values.last, VALUES_TICKS);
  const numberTexts = tickTexts(numbers);
  return (
    <section data-scan>
      <h2>Mean time by <Name name={name} /></h2>
      <figure class="scan">
        <TimesAxis ticks={ticks} range={times} unit={unit} />
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={`Mean time by ${shown(name, NAME_CHARACTERS_MAX)}`}>
          {ticks.map((tick) => <line key={tick} class="tick" x1={0} x2={WIDTH} y1={up(tick)} y2={up(tick)} />)}
          {points.map(({ at, command: { name: command, mean, deviation } }, place) => (
            <g key={place}>
              <title>{`${shown(command, NAME_CHARACTERS_MAX)}: ${timeText(mean, unit)}${deviation === null ? "" : ` ± ${timeText(deviation, unit)}`}`}</title>
              {deviation === null ? null : <line class="deviation" x1={along(at)} x2={along(at)} y1={up(mean - deviation)} y2={up(mean + deviation)} />}
              <path class="dots" d={`M${along(at)} ${up(mean)}h0`} />
            </g>
          ))}
        </svg>
        <div data-axis="values" aria-hidden="true">
          {numbers.map((tick, at) => <span key={tick} style={{ left: `${placeIn(values, tick) * 100}%` }}>{numberTexts[at]}</span>)}
        </div>
      </figure>
    </section>
  );
}
