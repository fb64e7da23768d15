// Opens the page: reads the numbers in it and shows them, or says in words why it cannot.
import { render } from "preact";
import { Page } from "./parts/page";
import { createPageState } from "./parts/state/page-state";
import { readNumbers } from "./parts/state/numbers";

const place = document.querySelector("[data-page]");
if (place !== null) void show(place);

async function show(place: Element): Promise<void> {
  const theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  document.documentElement.dataset["theme"] = theme;
  try {
    const recording = await readNumbers();
    performance.mark("numbers read");
    const state = createPageState(recording, theme);
    performance.mark("tree built");
    document.title = `${state.recording.profile.meta.title ?? "a recording"} · genba`;
    render(<Page state={state} onPainted={markPainted} />, place);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    render(
      <div class="failed" role="alert">
        <h1>This recording cannot be shown</h1>
        <p>{why}</p>
        <p class="quiet">Write the page again with the genba that made the recording: genba html FILE -o page.html</p>
      </div>,
      place,
    );
  }
}

/** For whoever waits for the picture: tests, and tools that print pages. */
function markPainted(): void {
  if (document.documentElement.dataset["painted"] === undefined) performance.mark("painted");
  document.documentElement.dataset["painted"] = "true";
}
