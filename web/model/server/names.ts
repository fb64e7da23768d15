// Short names for what a server lists.
import { shown } from "../words";

/** `9f31…c2` */
export function hashWords(sha256: string): string {
  return sha256.length <= 8 ? sha256 : `${sha256.slice(0, 4)}…${sha256.slice(-2)}`;
}

/** `program --flag` by the name of its file: what fits beside another one. */
export function shortProgram(program: string): string {
  return shown(program.split(/\s/).find((word) => word !== "") ?? program, 40);
}
