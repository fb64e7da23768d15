// Builds the viewer: dist/viewer.html is the whole page, script and style inside, with one place left for the numbers.
// `--tests` bundles the model's tests for node's runner instead. Nothing is fetched.
import { build } from "esbuild";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const numbers = "@GENBA_NUMBERS@"; // crates/cli/src/verbs/html.rs and tests/web put gzip + base64 here

if (process.argv.includes("--tests")) await bundleTests();
else await bundlePage();

async function bundlePage() {
  const shared = { bundle: true, minify: true, write: false, absWorkingDir: here, logLevel: "warning", charset: "utf8" };
  const script = await build({
    ...shared,
    entryPoints: ["main.tsx"],
    format: "iife",
    target: ["chrome103", "firefox113", "safari16.4"],
    jsx: "automatic",
    jsxImportSource: "preact",
    define: { "process.env.NODE_ENV": '"production"' },
  });
  const style = await build({ ...shared, entryPoints: ["style/page.css"] });
  const parts = { script: script.outputFiles[0].text.trim(), style: style.outputFiles[0].text.trim() };
  if (/<\/script/i.test(parts.script)) throw new Error("viewer.js holds `</script`: the page would end there");
  if (/<\/style/i.test(parts.style)) throw new Error("viewer.css holds `</style`: the page would end there");

  const shell = await readFile(join(here, "shell.html"), "utf8");
  const page = shell.replace("@STYLE@", () => parts.style).replace("@SCRIPT@", () => parts.script);
  if (page.split(numbers).length !== 2) throw new Error(`shell.html must hold ${numbers} exactly once`);
  await mkdir(join(here, "dist"), { recursive: true });
  await writeFile(join(here, "dist/viewer.js"), parts.script);
  await writeFile(join(here, "dist/viewer.css"), parts.style);
  await writeFile(join(here, "dist/viewer.html"), page);
}

async function bundleTests() {
  const out = join(here, "../build/web-tests");
  await rm(out, { recursive: true, force: true });
  const entryPoints = (await readdir(join(here, "model"), { recursive: true })).filter((name) => name.endsWith(".test.ts"));
  await build({
    absWorkingDir: join(here, "model"),
    entryPoints,
    outdir: out,
    entryNames: "[name]",
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    sourcemap: "inline",
    logLevel: "warning",
  });
}
