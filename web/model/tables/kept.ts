// Which samples a view is made of, and which of their frames: what is left of a profile when the reader keeps some threads,
// keeps or takes out frames by name, or leaves Python or C out. The flags of `genba report` of the same names mean the same.
// Keeps: numbers are passed on as they are; a frame that is taken out leaves its time to its caller.
import { HIDDEN } from "./decode";
import type { Frame, Profile, Samples, Stacks } from "./profile";
import type { FrameIndex, ProcessIndex, StackIndex, ThreadIndex } from "../units";
import { momentsOf, profileIn, rowsOf } from "./moments";
import type { Range } from "./moments";

/** Which frames are shown. */
export const LAYERS = ["both", "python", "c"] as const;
export type Layers = (typeof LAYERS)[number];

export interface Kept {
  readonly layers: Layers;
  /** Null: all. */
  readonly process: ProcessIndex | null;
  readonly thread: ThreadIndex | null;
  /** Patterns for a frame's function or file: stacks with such a frame are kept, frames that match are taken out. "": none. */
  readonly focus: string;
  readonly hide: string;
  /** Null: all the time. */
  readonly time: Range | null;
  /** Calls of a function by itself are one call. */
  readonly foldsRecursion: boolean;
}

export const ALL: Kept = { layers: "both", process: null, thread: null, focus: "", hide: "", time: null, foldsRecursion: false };

export function isAll(kept: Kept): boolean {
  return (Object.keys(ALL) as (keyof Kept)[]).every((key) => kept[key] === ALL[key]);
}

/** The profile itself when nothing is left out. Throws SyntaxError where `pattern` does. */
export function keptProfile(whole: Profile, kept: Kept): Profile {
  if (isAll(kept)) return whole;
  const profile = kept.time === null ? whole : profileIn(whole, kept.time);
  const [focus, hide] = [pattern(kept.focus), pattern(kept.hide)];
  const isHidden = (frame: Frame): boolean => !isOfLayers(frame, kept.layers) || (hide !== null && matches(frame, hide));
  const focused = focus === null ? null : stacksWith(profile, (frame) => matches(frame, focus));
  const left = hide === null ? null : stacksWith(profile, (frame) => !matches(frame, hide));
  const isKept = (row: number): boolean => {
    const { stack, thread } = profile.samples;
    const of = thread[row] ?? (0 as ThreadIndex);
    if (kept.thread !== null && of !== kept.thread) return false;
    if (kept.process !== null && profile.threads[of]?.process !== kept.process) return false;
    const leaf = stack[row] ?? null;
    return focused === null || (leaf !== null && focused[leaf] === 1);
  };
  const { stacks, nodeOf } = shownStacks(profile, isHidden, kept.foldsRecursion);
  const rows = profile.samples.stack.map((_, row) => row).filter(isKept);
  const moments = profile.moments === null ? null : momentsOf(profile.moments, rows);
  const samples = rowsOf<Samples>(profile.samples, rows);
  // A stack that was taken out whole is not the same as a sample without a stack.
  const shown = (leaf: StackIndex): StackIndex | null => (left?.[leaf] === 0 ? HIDDEN_STACK : (nodeOf[leaf] ?? null));
  const stack = samples.stack.map((leaf) => (leaf === null ? null : shown(leaf)));
  return { ...profile, frames: [...profile.frames, HIDDEN], stacks, samples: { ...samples, stack }, moments };
}

/** Null: nothing was asked for. Throws SyntaxError, with words for the reader, when it is none. */
export function pattern(text: string): RegExp | null {
  return text === "" ? null : new RegExp(text, "u");
}

/** A mark has no name, only words. */
function matches(frame: Frame, wanted: RegExp): boolean {
  return frame.kind !== "mark" && [frame.name, frame.file, frame.module].some((text) => text !== null && wanted.test(text));
}

function isOfLayers(frame: Frame, layers: Layers): boolean {
  if (layers === "both" || frame.kind === "mark") return true;
  return (frame.kind === "python") === (layers === "python");
}

/** 1 for each stack with such a frame on it. A parent stands before its children. */
function stacksWith({ stacks, frames }: Profile, isWanted: (frame: Frame) => boolean): Uint8Array {
  const frameMatches = frames.map(isWanted);
  const found = new Uint8Array(stacks.parent.length);
  stacks.parent.forEach((parent, stack) => {
    const above = parent !== null && found[parent] === 1;
    found[stack] = above || frameMatches[stacks.frame[stack] ?? 0] === true ? 1 : 0;
  });
  return found;
}

/** In stacks that frames were left out of, the mark behind all frames. */
const HIDDEN_STACK = 0 as StackIndex;

/**
 * The stacks without their hidden frames, and for each stack what is left of it; null: nothing. Of a function that calls itself the innermost call stays:
 * it says where the function was.
 */
function shownStacks({ stacks, frames }: Profile, isHidden: (frame: Frame) => boolean, foldsRecursion: boolean): { stacks: Stacks; nodeOf: (StackIndex | null)[] } {
  const hidden = frames.map(isHidden);
  const functionOf = foldsRecursion ? functionsOf(frames) : null;
  if (!hidden.includes(true) && functionOf === null) return { stacks, nodeOf: stacks.parent.map((_, stack) => stack as StackIndex) };
  const shown = { parent: [null] as (StackIndex | null)[], frame: [frames.length as FrameIndex] };
  const nodeOf: (StackIndex | null)[] = [];
  stacks.parent.forEach((parent, stack) => {
    const above = parent === null ? null : (nodeOf[parent] ?? null);
    const frame = stacks.frame[stack] ?? (0 as FrameIndex);
    if (hidden[frame] === true) {
      nodeOf.push(above);
      return;
    }
    nodeOf.push(shown.frame.length as StackIndex);
    const isAgain = functionOf !== null && above !== null && functionOf[shown.frame[above] ?? 0] === functionOf[frame];
    shown.parent.push(isAgain ? (shown.parent[above] ?? null) : above);
    shown.frame.push(frame);
  });
  return { stacks: shown, nodeOf };
}

/** Of each frame the number of its function: frames of one function stand at different lines. Marks are no function. */
function functionsOf(frames: readonly Frame[]): number[] {
  const numbers = new Map<string, number>();
  return frames.map((frame, at) => {
    const key = frame.kind === "mark" ? `mark ${at}` : JSON.stringify([frame.kind === "python", frame.name, frame.firstLine, frame.kind === "python" ? frame.file : frame.module]);
    const known = numbers.get(key) ?? numbers.size;
    numbers.set(key, known);
    return known;
  });
}
