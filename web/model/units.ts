// Units and indices as types that cannot be mixed up. They are made by the decoder (decode.ts) and by the tables built
// from what it gives (tree.ts, layout.ts); everywhere else they are only passed on.

declare const unit: unique symbol;
type Branded<Name extends string> = number & { readonly [unit]: Name };

/** Nanoseconds. Integers up to the screen (words.ts). */
export type Ns = Branded<"ns">;
/** Milliseconds since 1970, in UTC. */
export type Ms = Branded<"ms">;
/** Observations of running threads, or ticks: whole numbers. */
export type Count = Branded<"count">;
/** 0…1 of something that the name says. */
export type Share = Branded<"share">;
/** CSS pixels. */
export type Px = Branded<"px">;
export type Bytes = Branded<"bytes">;
/** A number in whichever weight is chosen: nanoseconds, samples or bytes. */
export type Weighed = Branded<"weighed">;

/** Row of `Profile.frames`. */
export type FrameIndex = Branded<"frame">;
/** Row of `Profile.stacks`: a stack is its leaf. */
export type StackIndex = Branded<"stack">;
export type ThreadIndex = Branded<"thread">;
export type ProcessIndex = Branded<"process">;
export type StateIndex = Branded<"state">;
/** Row of `Tree.places`: what a box says. */
export type PlaceIndex = Branded<"place">;
/** Row of the columns of `Tree`: one box. */
export type BoxIndex = Branded<"box">;

/** What the boxes' widths mean. */
export type Weight = "cpu" | "wall" | "samples" | "copied" | "allocated";
/** All; copied bytes are told by a recording with `--copies` only, allocated ones by one with `--alloc` (`weightsOf`). */
export const WEIGHTS: readonly Weight[] = ["cpu", "wall", "samples", "copied", "allocated"];
/** One of each weight. */
export const byWeight = <Of>(of: (weight: Weight) => Of): Record<Weight, Of> => Object.fromEntries(WEIGHTS.map((weight) => [weight, of(weight)])) as Record<Weight, Of>;
/** Of a sum, where it begins. */
export const nothing = (): Record<Weight, number> => ({ cpu: 0, wall: 0, samples: 0, copied: 0, allocated: 0 });
