// Opens the page of `genba bench --export-html`.
import { decodeSession } from "../model/bench/session";
import { open } from "../parts/alone";
import { BenchPage } from "./page";

void open({
  command: "genba bench",
  what: "These measurements",
  again: "genba bench --export-html FILE",
  decode: decodeSession,
  title: ({ commands }) => commands.map(({ name }) => name).join(" | "),
  Page: BenchPage,
});
