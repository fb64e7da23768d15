// The collections in the page's JSON (crates/profile/src/views/collections/page.rs): columns there, rows here.
import type { Collection, Collections } from "./profile";
import { column, indices, indicesOrNull, list, object, text, whole, wholes } from "./read";
import type { Value } from "./read";
import type { Count, Ns, ProcessIndex } from "../units";

export function decodeCollections(at: Value, processes: number): Collections {
  const top = object(at);
  const places = list(top("places"), text);
  const columns = object(top("rows"));
  const process = indices<ProcessIndex>(columns("process"), processes);
  const numbers = (key: string): number[] => wholes(columns(key), process.length);
  const [moments, pauses, generations, collected, uncollectable] = [numbers("at_ns"), numbers("pause_ns"), numbers("generation"), numbers("collected"), numbers("uncollectable")];
  const reasons = column(columns("reason"), process.length, text);
  const examined = indicesOrNull<Count>(columns("examined"), () => Infinity, process.length);
  const place = indices(columns("place"), places.length, process.length);
  const rows = process.map((of, row): Collection => ({
    process: of,
    at: (moments[row] ?? 0) as Ns,
    pause: (pauses[row] ?? 0) as Ns,
    generation: generations[row] ?? 0,
    reason: reasons[row] ?? "",
    examined: examined[row] ?? null,
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
