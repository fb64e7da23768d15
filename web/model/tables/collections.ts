// The collections in the page's JSON (crates/profile/src/views/collections/page.rs): columns there, rows here.
import type { Collection, Collections } from "./profile";
import { column, index, list, nullable, object, text, whole } from "./read";
import type { Value } from "./read";
import type { Count, Ns, ProcessIndex } from "../units";

export function decodeCollections(at: Value, processes: number): Collections {
  const top = object(at);
  const places = list(top("places"), text);
  const columns = object(top("rows"));
  const process = list(columns("process"), (row) => index(row, processes) as ProcessIndex);
  const numbers = (key: string): number[] => column(columns(key), process.length, whole);
  const [moments, pauses, generations, collected, uncollectable] = [numbers("at_ns"), numbers("pause_ns"), numbers("generation"), numbers("collected"), numbers("uncollectable")];
  const reasons = column(columns("reason"), process.length, text);
  const examined = column(columns("examined"), process.length, nullable(whole));
  const place = column(columns("place"), process.length, (row) => index(row, places.length));
  const rows = process.map((of, row): Collection => ({
    process: of,
    at: (moments[row] ?? 0) as Ns,
    pause: (pauses[row] ?? 0) as Ns,
    generation: generations[row] ?? 0,
    reason: reasons[row] ?? "",
    examined: (examined[row] ?? null) as Count | null,
    collected: (collected[row] ?? 0) as Count,
    uncollectable: (uncollectable[row] ?? 0) as Count,
    place: place[row] ?? 0,
  }));
  return {
    rows,
    places,
    leftOut: whole(top("left_out")) as Count,
    before: whole(top("before")) as Count,
    lost: whole(top("lost")) as Count,
    isIncremental: top("incremental").value === true,
    wall: whole(top("wall_ns")) as Ns,
    advice: list(top("advice"), text),
  };
}
