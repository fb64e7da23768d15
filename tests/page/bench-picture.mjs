// Pictures of a page of `genba bench` for the docs: node bench-picture.mjs PAGE.html FOLDER writes bench-light.png and bench-dark.png.
import { join, resolve } from "node:path";
import { openPage, withChromium } from "./chromium.mjs";

const [, , page, folder] = process.argv;
if (folder === undefined) throw new Error("which page, and into which folder? node bench-picture.mjs PAGE.html FOLDER");

await withChromium(async (at) => {
  for (const theme of ["light", "dark"]) {
    const shown = await openPage(at, resolve(page), { width: 1280, height: 760, theme });
    await shown.screenshot({ path: join(folder, `bench-${theme}.png`) });
    if (shown.complaints.length > 0) throw new Error(`the page complained: ${shown.complaints.join("; ")}`);
    await shown.context().close();
  }
});
