// Units of time of `genba bench`, as its screen has them: three digits for seconds, one for the others. Values are in seconds.

export const UNITS = ["ns", "µs", "ms", "s"] as const;
export type Unit = (typeof UNITS)[number];
const SECONDS: Readonly<Record<Unit, number>> = { ns: 1e-9, "µs": 1e-6, ms: 1e-3, s: 1 };

/** The largest in which the time is 1 or more. */
export function fittingUnit(seconds: number): Unit {
  return UNITS.findLast((unit) => Math.abs(seconds) >= SECONDS[unit]) ?? "ns";
}

export function timeText(seconds: number, unit: Unit): string {
  return `${(seconds / SECONDS[unit]).toFixed(unit === "s" ? 3 : 1)} ${unit}`;
}

/** Numbers of an axis, with as many digits as they need to differ. */
export function tickTexts(ticks: readonly number[]): readonly string[] {
  const [first = 0, second = first * 2] = ticks;
  // A step of 0.05 needs two digits, and may be 0.049999….
  const digits = second === first ? 0 : -Math.floor(Math.log10(second - first) + 1e-9);
  return ticks.map((tick) => tick.toFixed(Math.min(20, Math.max(0, digits))));
}

/** The same of times. */
export function timeTicks(seconds: readonly number[], unit: Unit): readonly string[] {
  return tickTexts(seconds.map((at) => at / SECONDS[unit])).map((text) => `${text} ${unit}`);
}
