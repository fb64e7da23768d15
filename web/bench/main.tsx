// Opens the page of `genba bench --export-html`: reads the numbers in it and shows them, or says in words why it cannot.
import { render } from "preact";
import { decodeSession } from "../model/bench/session";
import { shown } from "../model/words";
import { unpackedNumbers } from "../parts/state/packed";
import { BenchPage } from "./page";

const TITLE_CHARACTERS_MAX = 100;

const place = document.querySelector("[data-page]");
if (place !== null) void show(place);

async function show(place: Element): Promise<void> {
  document.documentElement.dataset["theme"] = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  try {
    const session = decodeSession(await unpackedNumbers());
    document.title = `${shown(session.commands.map(({ name }) => name).join(" | "), TITLE_CHARACTERS_MAX)} · genba bench`;
    render(<BenchPage session={session} />, place);
    document.documentElement.dataset["painted"] = "true";
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    render(
      <div class="failed" role="alert">
        <h1>These measurements cannot be shown</h1>
        <p>{why}</p>
        <p class="quiet">Run genba bench --export-html FILE again to make a new page.</p>
      </div>,
      place,
    );
  }
}
