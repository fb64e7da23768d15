// What `genba bench --export-html` puts into its page, read and checked: the words of the screen, and the numbers of --export-json. Times are in
// seconds, as hyperfine's are.
import { damaged, finite, list, object, oneOf, orNull, text, whole, yes } from "../tables/read";
import type { Value } from "../tables/read";
import { UNITS } from "./units";
import type { Unit } from "./units";

/** How many times as long as something else, and the interval that the true number lies in. */
export interface Ratio {
  /** The command that it is compared with; null: itself, at other times. */
  readonly to: string | null;
  readonly ratio: number;
  /** Null: too few runs. `Infinity`: it has no end. */
  readonly interval: readonly [number, number] | null;
  /** The interval does not contain 1. */
  readonly isShown: boolean;
}

export interface Command {
  readonly name: string;
  /** Of each run, in the order in which they were made. At least one. */
  readonly times: readonly number[];
  readonly mean: number;
  /** Null: one run alone. */
  readonly deviation: number | null;
  readonly parameters: readonly (readonly [string, string])[];
  /** Its block on the screen. */
  readonly words: string;
  /** To the reference; null for itself. */
  readonly relative: Ratio | null;
  /** The same, of what is left without the start-up. */
  readonly beyond: Ratio | null;
  /** To the same command in the files of --against. */
  readonly against: Ratio | null;
}

export interface Session {
  readonly version: string;
  readonly rounds: number;
  readonly isInterleaved: boolean;
  /** Not all runs were made. */
  readonly isCut: boolean;
  /** The one that was asked for; else that which fits. */
  readonly unit: Unit | null;
  /** The command that the others are compared with; null: nothing is compared. */
  readonly reference: string | null;
  readonly commands: readonly Command[];
  /** What the screen says of all commands together. */
  readonly together: string;
}

export function decodeSession(value: unknown): Session {
  const page = object({ field: "", value });
  const exported = object(page("export"));
  const about = object(exported("genba"));
  const words = list(page("blocks"), text);
  const commands = list(exported("results"), (row) => row).map((row, place) => {
    const block = words[place];
    if (block === undefined) throw damaged(page("blocks"), "a block for each result");
    return decodeCommand(row, block);
  });
  return {
    version: text(about("version")),
    rounds: whole(about("rounds")),
    isInterleaved: yes(about("interleaved")),
    isCut: yes(about("interrupted")) || about("failed").value !== null,
    unit: orNull(page("unit"), (at) => oneOf(at, UNITS)),
    reference: commands.find(({ relative }) => relative !== null)?.relative?.to ?? null,
    commands,
    together: text(page("together")),
  };
}

function decodeCommand(at: Value, words: string): Command {
  const row = object(at);
  const more = object(row("genba"));
  const times = list(row("times"), finite);
  if (times.length === 0) throw damaged(row("times"), "at least one time");
  const parameters = row("parameters");
  const beyond = more("beyond_start_up");
  return {
    name: text(row("command")),
    times,
    mean: finite(row("mean")),
    deviation: orNull(row("stddev"), finite),
    parameters: parameters.value === null ? [] : Object.keys(parameters.value as object).map((name) => [name, text(object(parameters)(name))]),
    words,
    relative: orNull(more("relative"), decodeRatio),
    beyond: beyond.value === null ? null : orNull(object(beyond)("relative"), decodeRatio),
    against: orNull(more("against"), decodeRatio),
  };
}

function decodeRatio(at: Value): Ratio {
  const row = object(at);
  // JSON has no infinity: with `low` and without `high` the interval has no end.
  const [low, high] = [orNull(row("low"), finite), orNull(row("high"), finite)];
  return { to: orNull(row("to"), text), ratio: finite(row("ratio")), interval: low === null ? null : [low, high ?? Infinity], isShown: yes(row("shown")) };
}
