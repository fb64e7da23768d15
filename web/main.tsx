// Opens the page: reads the numbers in it and shows them, or says in words why it cannot.
// In this order the script packs best, by 600 bytes: the model, the parts, and what they are made with.
import { createPageState } from "./parts/state/page-state";
import { Page } from "./parts/page";
import { createComparisonState } from "./parts/state/comparison";
import { Sides } from "./parts/frame/sides";
import { render } from "preact";
import { readNumbers } from "./parts/state/numbers";
import type { Numbers } from "./parts/state/numbers";
import type { Theme } from "./parts/state/view";

const place = document.querySelector("[data-page]");
if (place !== null) void show(place);

async function show(place: Element): Promise<void> {
  const theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  document.documentElement.dataset["theme"] = theme;
  try {
    const numbers = await readNumbers();
    performance.mark("numbers read");
    if ("comparison" in numbers) showComparison(place, numbers, theme);
    else {
      const state = createPageState(numbers.recording, theme);
      performance.mark("tree built");
      document.title = `${state.recording.profile.meta.title ?? "a recording"} · genba`;
      render(<Page state={state} onPainted={markPainted} />, place);
    }
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

function showComparison(place: Element, numbers: Extract<Numbers, { comparison: unknown }>, theme: Theme): void {
  const comparison = createComparisonState(numbers.comparison);
  const before = createPageState(numbers.before, theme, comparison);
  // One theme for both sides.
  const after = createPageState(numbers.after, theme, comparison, before.view);
  performance.mark("tree built");
  document.title = `${numbers.comparison.before} → ${numbers.comparison.after} · genba`;
  render(<Sides comparison={comparison} states={{ before, after }} onPainted={markPainted} />, place);
}

/** For whoever waits for the picture: tests, and tools that print pages. */
function markPainted(): void {
  if (document.documentElement.dataset["painted"] === undefined) performance.mark("painted");
  document.documentElement.dataset["painted"] = "true";
}
