// A picture of one view of a page, for a case: node case-picture.mjs PAGE.html PICTURE.png VIEW WEIGHT HEIGHT, which is in pixels.
import { resolve } from "node:path";
import { drawn, openPage, withChromium } from "./chromium.mjs";

const [, , page, picture, view, weight, heightMax] = process.argv;
if (heightMax === undefined) throw new Error("which page, picture, view, weight and height? node case-picture.mjs PAGE.html PICTURE.png flame cpu 380");

await withChromium(async (at) => {
  const shown = await openPage(at, resolve(page), { width: 1000, height: 1000 });
  await shown.locator(`[data-view=${view}]`).click();
  await shown.locator(`[data-weight=${weight}]`).click();
  await drawn(shown);
  // What is above `main` tells of the machine and of this run.
  const { x, y, width, height } = await shown.locator("main").boundingBox();
  await shown.screenshot({ path: picture, clip: { x, y, width, height: Math.min(height, Number(heightMax)) } });
  if (shown.complaints.length > 0) throw new Error(`the page complained: ${shown.complaints.join("; ")}`);
});
