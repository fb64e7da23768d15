// The button below a table that does not show all of its rows.
import type { JSX } from "preact";
import { plural } from "../model/words";

export function More({ count, one, many, onMore }: { count: number; one: string; many?: string; onMore: () => void }): JSX.Element | null {
  if (count <= 0) return null;
  return <button type="button" class="more" onClick={onMore}>{plural(count, `more ${one}`, `more ${many ?? `${one}s`}`)}</button>;
}
