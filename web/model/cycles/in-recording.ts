// What the page of a recording holds of the files of --gc-cycles beside it, read and checked.
import { list, object, text, whole } from "../tables/read";
import type { Value } from "../tables/read";
import type { Ns } from "../units";
import { momentWords } from "../words";
import { decodePictureAt } from "./kinds";
import type { Picture } from "./kinds";

/** Before a full collection. */
export interface Moment {
  readonly pid: number;
  /** Since the recording began. */
  readonly at: Ns;
  readonly file: string;
  readonly picture: Picture;
}

export interface Moments {
  /** The latest is the last. */
  readonly moments: readonly Moment[];
  /** What is not shown. */
  readonly notes: readonly string[];
}

export function decodeMoments(value: unknown): Moments {
  const top = object({ field: "", value });
  return { moments: list(top("moments"), decodeMoment), notes: list(top("notes"), text) };
}

function decodeMoment(at: Value): Moment {
  const row = object(at);
  return { pid: whole(row("pid")), at: whole(row("at_ns")) as Ns, file: text(row("file")), picture: decodePictureAt(row("picture")) };
}

/** `1.20 s (app.cycles-2.json)`, with the process where there are several. */
export function momentLabels(moments: readonly Moment[]): string[] {
  const isOfOne = new Set(moments.map(({ pid }) => pid)).size < 2;
  return moments.map(({ pid, at, file }) => `${momentWords(at)}${isOfOne ? "" : ` of process ${pid}`} (${file})`);
}
