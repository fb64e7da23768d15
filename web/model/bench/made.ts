// Numbers of a page of `genba bench`, as crates/bench/src/views/page.rs writes them.

interface Change {
  readonly times?: readonly unknown[];
  readonly relative?: unknown;
  readonly about?: object;
  readonly blocks?: readonly string[];
  readonly unit?: string | null;
}

/** Two commands, `slow` and `fast`, that are compared. `times` and `relative`: of the first. */
export function sessionPage({ times = [0.2, 0.21, 0.19, 0.2], relative = { to: "fast", ratio: 2, low: 1.9, high: 2.1, shown: true }, about = {}, blocks = ["block of slow", "block of fast"], unit = null }: Change = {}): unknown {
  const more = { relative: null, against: null, beyond_start_up: null };
  return {
    unit,
    blocks,
    together: "Summary",
    export: {
      results: [
        { command: "slow", mean: 0.2, stddev: 0.01, times, genba: { ...more, relative } },
        { command: "fast", mean: 0.1, stddev: null, times: [0.1], parameters: { n: "3" }, genba: more },
      ],
      genba: { version: "0.1.0", interleaved: true, rounds: 4, interrupted: false, failed: null, ...about },
    },
  };
}
