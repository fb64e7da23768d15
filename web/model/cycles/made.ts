// Pages of `genba gc cycles` for tests.

interface MadeArrow {
  from: number;
  to: number;
  name: string;
  dropped?: boolean;
}

export function madeKind(boxes: readonly string[], arrows: readonly MadeArrow[]): Record<string, unknown> {
  return {
    title: "50 cycles of 5 objects each, 26.7 kB",
    graph: {
      boxes: boxes.map((name) => ({ name, objects: "150 objects" })),
      arrows: arrows.map(({ from, to, name, dropped = false }) => ({ from, to, name, count: "150", line: `${boxes[from] ?? ""}${name} → ${boxes[to] ?? ""}`, is_dropped: dropped })),
    },
    more_references: null,
    no_shape: null,
    held: null,
    advice: "drop Node.parent: make it a weakref",
  };
}

export function madeCycles(...kinds: readonly Record<string, unknown>[]): Record<string, unknown> {
  return { genba_version: "0.1.0", argv: ["python3", "app.py"], about: "process 1\n", kinds, more: null, end: "nothing was freed\n" };
}
