// Whose code a box is, as the name of a colour. The colours themselves are tokens of the themes.
import type { Owner } from "./tables/profile";
import type { Place } from "./tree/tree";

export type Tint = "own" | "own-2" | "lib" | "interp" | "ext" | "libc" | "gc" | "gil" | "wait" | "root";
export const TINTS: readonly Tint[] = ["own", "own-2", "lib", "interp", "ext", "libc", "gc", "gil", "wait", "root"];

export function tintOf(place: Place): Tint {
  switch (place.kind) {
    case "root":
    case "process":
    case "thread":
      return "root";
    case "expression":
      return "own-2";
    case "state":
      return place.state === "in gc" ? "gc" : place.state === "waiting for GIL" ? "gil" : "wait";
    case "folded":
      return "interp";
    case "function":
    case "foreign":
      return ownerTint(place.frame.owner);
  }
}

export function ownerTint(owner: Owner | null): Tint {
  switch (owner) {
    case "user":
      return "own";
    case "library":
    case "stdlib":
      return "lib";
    case "interpreter":
      return "interp";
    case "extension":
    case "native":
      return "ext";
    case "libc":
      return "libc";
    case null:
      return "root";
  }
}

/** Hatched. */
export function isWaiting(tint: Tint | "run"): boolean {
  return tint === "gil" || tint === "wait";
}

/** Drawn with a dashed edge and paler: not seen on the stack itself. */
export function isInferred(place: Place): boolean {
  return place.kind === "foreign" && place.frame.kind !== "c" && place.frame.kind !== "inlined";
}
