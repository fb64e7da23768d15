// Where an axis has its numbers.

/** At most `most` round values from `first` to `last`, both included: 1, 2 or 5 times a power of ten apart. */
export function axisTicks(first: number, last: number, most: number): readonly number[] {
  const length = last - first;
  if (length <= 0) return [first];
  const power = 10 ** Math.floor(Math.log10(length / most));
  let step = power;
  for (const times of [1, 2, 5, 10]) {
    step = power * times;
    if (Math.floor(last / step) - Math.ceil(first / step) < most) break;
  }
  const ticks: number[] = [];
  for (let at = Math.ceil(first / step); at * step <= last; at += 1) ticks.push(at * step);
  return ticks;
}
