// The one script that lies in a page as it is: unpacks the style and the script before it, and begins with the page's numbers.
// Owns: words for a browser that cannot do this; so it is built for older ones, too. The page's policy names it and the script that it unpacks by
// their hashes (build.mjs): no other text runs.
import { begin, unpacked } from "./parts/state/packed";

const STYLE_END = "</style>";

const code = document.currentScript?.previousElementSibling;
if (code) load(code).catch(fail);

async function load(code: Element): Promise<void> {
  const text = unpacked(code);
  const numbers = code.previousElementSibling;
  // Those of the graphs of cycles wait until somebody looks at them.
  if (numbers?.matches("[data-numbers]")) begin(numbers);
  const parts = await text;
  const end = parts.indexOf(STYLE_END);
  add("style", parts.slice(0, end), code);
  // It has run by then. A page that somebody saves as it is shown must not run it twice.
  add("script", parts.slice(end + STYLE_END.length), code).remove();
}

/** Here, so that the styles of a page keep their order. */
function add(name: string, text: string, code: Element): Element {
  const element = document.createElement(name);
  element.textContent = text;
  code.after(element);
  return element;
}

function fail(why: unknown): void {
  // A page with graphs has two loaders.
  const place = document.querySelector("[data-page]:empty");
  if (place === null) return;
  place.setAttribute("role", "alert");
  place.setAttribute("class", "failed");
  place.textContent = `This page needs Chromium 103, Firefox 113, Safari 16.4 or newer: ${String(why)}`;
}
