// A picture of a page's call tree as boxes, by CPU: node flame-picture.mjs PAGE.html PICTURE.png.
import { resolve } from "node:path";
import { openPage, withChromium } from "./chromium.mjs";

const [, , page, picture] = process.argv;
if (picture === undefined) throw new Error("which page, and into which picture? node flame-picture.mjs PAGE.html PICTURE.png");

await withChromium(async (at) => {
  const shown = await openPage(at, resolve(page), { width: 1100, height: 900 });
  await shown.locator("[data-view=flame]").click();
  await shown.locator("[data-weight=cpu]").click();
  await shown.screenshot({ path: picture });
  if (shown.complaints.length > 0) throw new Error(`the page complained: ${shown.complaints.join("; ")}`);
});
