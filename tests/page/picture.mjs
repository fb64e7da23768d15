// Pictures of a page for the docs: node picture.mjs PAGE.html FOLDER writes page-light.png and page-dark.png.
import { join, resolve } from "node:path";
import { drawn, openPage, withChromium } from "./chromium.mjs";

const [, , page, folder] = process.argv;
if (folder === undefined) throw new Error("which page, and into which folder? node picture.mjs PAGE.html FOLDER");

await withChromium(async (at) => {
  for (const theme of ["light", "dark"]) {
    const shown = await openPage(at, resolve(page), { width: 1280, height: 680, theme });
    // The heaviest expression is chosen, as by a reader who clicks it first.
    await shown.locator("[data-hit]").first().click();
    await drawn(shown);
    await shown.screenshot({ path: join(folder, `page-${theme}.png`) });
    if (shown.complaints.length > 0) throw new Error(`the page complained: ${shown.complaints.join("; ")}`);
    await shown.context().close();
  }
});
