// What `genba gc cycles -o` puts into its page, read and checked: the words of the screen, and each kind of cycles as a graph.
import { index, list, object, orNull, text, yes } from "../tables/read";
import type { Value } from "../tables/read";

export interface Class {
  readonly name: string;
  /** `10,000 objects`; null: not counted. */
  readonly objects: string | null;
}

export interface Arrow {
  /** Places in `boxes`. */
  readonly from: number;
  readonly to: number;
  /** `["key"]`, `.parent`; empty: a reference without a name. */
  readonly name: string;
  readonly count: string;
  /** `dict["key"] → dict`: the same without a picture. */
  readonly line: string;
  readonly isDropped: boolean;
}

export interface Graph {
  readonly boxes: readonly Class[];
  readonly arrows: readonly Arrow[];
}

export interface Kind {
  readonly title: string;
  readonly graph: Graph;
  /** References that are not drawn. */
  readonly moreReferences: string | null;
  /** Why there is no graph. */
  readonly noShape: string | null;
  readonly held: string | null;
  /** What to drop. */
  readonly advice: string | null;
}

export interface Picture {
  readonly version: string;
  readonly argv: readonly string[];
  readonly about: string;
  /** The largest first. */
  readonly kinds: readonly Kind[];
  readonly more: string | null;
  readonly end: string;
}

export function decodePicture(value: unknown): Picture {
  return decodePictureAt({ field: "", value });
}

export function decodePictureAt(at: Value): Picture {
  const page = object(at);
  return {
    version: text(page("genba_version")),
    argv: list(page("argv"), text),
    about: text(page("about")),
    kinds: list(page("kinds"), decodeKind),
    more: orNull(page("more"), text),
    end: text(page("end")),
  };
}

function decodeKind(at: Value): Kind {
  const kind = object(at);
  return {
    title: text(kind("title")),
    graph: decodeGraph(kind("graph")),
    moreReferences: orNull(kind("more_references"), text),
    noShape: orNull(kind("no_shape"), text),
    held: orNull(kind("held"), text),
    advice: orNull(kind("advice"), text),
  };
}

function decodeGraph(at: Value): Graph {
  const graph = object(at);
  const boxes = list(graph("boxes"), (row) => {
    const box = object(row);
    return { name: text(box("name")), objects: orNull(box("objects"), text) };
  });
  const arrows = list(graph("arrows"), (row) => {
    const arrow = object(row);
    return {
      from: index(arrow("from"), boxes.length),
      to: index(arrow("to"), boxes.length),
      name: text(arrow("name")),
      count: text(arrow("count")),
      line: text(arrow("line")),
      isDropped: yes(arrow("is_dropped")),
    };
  });
  return { boxes, arrows };
}
