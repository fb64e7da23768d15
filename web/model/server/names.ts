// Names from recordings as a reader may see them: characters that hide or turn text around are written out, and what is cut says so.
import { plural } from "../words";

/** Control characters, and the marks that change the direction of what follows. */
const HIDDEN = /[\p{Cc}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;

/** `report‮gpj.py` as `report⟨202E⟩gpj.py` */
export function visible(name: string): string {
  return name.replace(HIDDEN, (character) => `⟨${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

/** At most so many characters, and how many more there are. */
export function shown(name: string, charactersMax: number): string {
  const text = visible(name);
  if (text.length <= charactersMax) return text;
  const characters = Array.from(text);
  if (characters.length <= charactersMax) return text;
  return `${characters.slice(0, charactersMax).join("")}… (${plural(characters.length - charactersMax, "more character")})`;
}

/** `9f31…c2` */
export function hashWords(sha256: string): string {
  return sha256.length <= 8 ? sha256 : `${sha256.slice(0, 4)}…${sha256.slice(-2)}`;
}

/** `program --flag` by the name of its file: what fits beside another one. */
export function shortProgram(program: string): string {
  return shown(program.split(/\s/).find((word) => word !== "") ?? program, 40);
}
