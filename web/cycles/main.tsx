// Opens the page of `genba gc cycles PID -o OUT`.
import { decodePicture } from "../model/cycles/kinds";
import { open } from "../parts/alone";
import { CyclesPage } from "./page";

void open({
  command: "genba gc cycles",
  what: "These cycles",
  again: "genba gc cycles PID -o OUT",
  decode: decodePicture,
  title: ({ argv }) => argv.join(" "),
  Page: CyclesPage,
});
