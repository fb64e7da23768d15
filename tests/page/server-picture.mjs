// A picture of the server's list for the docs: node server-picture.mjs ADDRESS FOLDER writes server.png.
import { join } from "node:path";
import { withChromium } from "./chromium.mjs";

const [, , address, folder] = process.argv;
if (folder === undefined) throw new Error("which server, and into which folder? node server-picture.mjs ADDRESS FOLDER");

await withChromium(async ({ browser }) => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 620 }, colorScheme: "light" });
  await page.goto(address);
  await page.getByText("Share this recording").waitFor();
  await page.screenshot({ path: join(folder, "server.png") });
});
