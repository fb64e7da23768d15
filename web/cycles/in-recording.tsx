// On the viewer's page of a recording beside which are files of --gc-cycles: their graphs, at the end of the view GC.
// Owns: one element, which it puts there whenever the viewer has made that view. The viewer knows nothing of it.
import { render } from "preact";
import { decodeMoments } from "../model/cycles/in-recording";
import { unpacked } from "../parts/state/packed";
import { MomentsPart } from "./moments";

const place = document.createElement("section");
place.className = "gc-cycles";
place.setAttribute("aria-label", "Garbage in cycles");
// In the viewer, arrow keys move the selection in the call tree. Here they scroll a graph that is wider than its place.
place.addEventListener("keydown", (event) => {
  if (event.key.startsWith("Arrow")) event.stopPropagation();
});

let isAsked = false;

/** The view is made anew whenever its tab is chosen, and what the viewer adds to it later may come behind the last element. */
function follow(): void {
  const view = document.querySelector(".gc-view");
  if (view === null || view.lastElementChild === place) return;
  view.append(place);
  if (!isAsked) {
    isAsked = true;
    void show();
  }
}

async function show(): Promise<void> {
  try {
    const numbers = document.querySelector("[data-cycles]");
    if (numbers === null) throw new Error("this page holds none");
    render(<MomentsPart numbers={decodeMoments(JSON.parse(await unpacked(numbers)))} />, place);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    render(<p role="alert">The garbage in cycles cannot be shown: {why}</p>, place);
  }
}

new MutationObserver(follow).observe(document.body, { childList: true, subtree: true });
follow();
