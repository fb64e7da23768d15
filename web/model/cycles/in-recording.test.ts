// The garbage in cycles of a recording: what its page reads, and how it names each moment.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Damaged } from "../tables/read";
import { madeCycles, madeKind } from "./made";
import { decodeMoments, momentLabels } from "./in-recording";

const moment = (pid: number, at_ns: number, file: string): Record<string, unknown> => ({
  pid, at_ns, file, picture: madeCycles(madeKind(["Node"], [{ from: 0, to: 0, name: ".me" }])),
});

test("a moment has its time, its file and its kinds; its process where there are several", () => {
  const [first, second] = [moment(7, 1_200_000_000, "app.cycles-1.json"), moment(8, 2_000_000_000, "app.cycles-2.json")];
  const { moments, notes } = decodeMoments({ moments: [first, second], notes: ["Not shown: 1 earlier file."] });
  assert.deepEqual(notes, ["Not shown: 1 earlier file."]);
  assert.deepEqual(moments.map(({ picture }) => picture.kinds[0]?.graph.arrows[0]?.line), ["Node.me → Node", "Node.me → Node"]);
  assert.deepEqual(momentLabels(moments), ["1.20 s of process 7 (app.cycles-1.json)", "2.00 s of process 8 (app.cycles-2.json)"]);
  assert.deepEqual(momentLabels(moments.slice(0, 1)), ["1.20 s (app.cycles-1.json)"]);
});

test("a damaged moment is refused, and its field is named", () => {
  const words = "field moments[0].picture.kinds[0].graph.arrows[0].to: expected an index below 1, found 1";
  const damaged = { ...moment(7, 0, "a"), picture: madeCycles(madeKind(["Node"], [{ from: 0, to: 1, name: "" }])) };
  assert.throws(() => decodeMoments({ moments: [damaged], notes: [] }), (error) => error instanceof Damaged && error.message === words);
  for (const value of [null, {}, { moments: [] }, { moments: [{}], notes: [] }]) assert.throws(() => decodeMoments(value), Damaged);
});
