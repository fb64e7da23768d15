// The name of a command or of a parameter: what hides or turns text around is written out, and a long one is cut.
import type { JSX } from "preact";
import { shown } from "../model/words";

export const NAME_CHARACTERS_MAX = 400;

export function Name({ name }: { name: string }): JSX.Element {
  return <bdi>{shown(name, NAME_CHARACTERS_MAX)}</bdi>;
}
