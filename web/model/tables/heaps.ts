// The heaps in the page's JSON (crates/profile/src/views/heaps.rs): columns of classes there, maps here.
import type { Heap, Heaps } from "./profile";
import { index, indices, list, object, orNull, text, whole, wholes } from "./read";
import type { Value } from "./read";
import type { Bytes, Count, Ns, ProcessIndex } from "../units";

export function decodeHeaps(at: Value, processes: number): Heaps {
  const top = object(at);
  const classes = list(top("classes"), text);
  return { classes, rows: list(top("rows"), (row) => decodeHeap(row, processes, classes.length)), leftOut: whole(top("left_out")) };
}

function decodeHeap(at: Value, processes: number, classes: number): Heap {
  const row = object(at);
  const of = indices(row("class"), classes);
  const numbers = (key: string): number[] => wholes(row(key), of.length);
  const [objects, bytes] = [numbers("class_objects"), numbers("class_bytes")];
  return {
    process: orNull(row("process"), (one) => index(one, processes) as ProcessIndex),
    at: whole(row("at_ns")) as Ns,
    moment: text(row("moment")),
    isCollected: row("collected").value === true,
    objects: whole(row("objects")) as Count,
    bytes: whole(row("bytes")) as Bytes,
    pause: whole(row("pause_ns")) as Ns,
    file: text(row("file")),
    unlistedMax: whole(row("unlisted_bytes_max")) as Bytes,
    classes: new Map(of.map((name, at) => [name, { objects: (objects[at] ?? 0) as Count, bytes: (bytes[at] ?? 0) as Bytes }])),
  };
}
