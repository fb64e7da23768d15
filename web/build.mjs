// Builds the pages, script and style inside: dist/viewer.html, the viewer with one place left for the numbers; dist/bench.html and
// dist/cycles.html, the same of `genba bench` and `genba gc cycles`; dist/cycle-graphs.html, which the viewer's page has besides where there are
// graphs of cycles; dist/server.html, all pages in front of the viewer; and dist/follow.js, which `genba serve` and `genba view` add to their page
// of a recording that grows.
// `--tests` bundles the model's tests for node's runner instead. Nothing is fetched.
import { execFileSync } from "node:child_process";
import { build } from "esbuild";
import { minify } from "terser";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
/** What a page may have of code and style before its numbers, compressed as `gzip -9` does. */
const VIEWER_BYTES_MAX = 60_000;
const numbers = "@GENBA_NUMBERS@"; // crates/page/src/lib.rs and tests/page put gzip + base64 here
// As tsc has them, but for JSX: calls whose children are arguments are shorter than those with an object that names its children.
const { compilerOptions } = JSON.parse(await readFile(join(here, "tsconfig.json"), "utf8"));

if (process.argv.includes("--tests")) await bundleTests();
else {
  await mkdir(join(here, "dist"), { recursive: true });
  await bundleViewer();
  await bundleAlone("genba bench", "bench");
  await bundleAlone("genba gc cycles", "cycles");
  await bundleGraphs();
  await bundleServer();
}

async function bundleViewer() {
  const parts = await bundle({ script: "main.tsx", style: "style/page.css" });
  const page = await pageWithPlace("genba", parts);
  const size = execFileSync("gzip", ["-9c"], { input: page }).length;
  if (size > VIEWER_BYTES_MAX) {
    throw new Error(`viewer.html has ${size} bytes of code and style, compressed; the budget is ${VIEWER_BYTES_MAX}\nhint: look for dead or repeated code`);
  }
  await keep("dist/viewer.js", parts.script);
  await keep("dist/viewer.css", parts.style);
  await keep("dist/viewer.html", page);
}

/** A page that stands alone, beside the viewer. */
async function bundleAlone(title, name) {
  const parts = await bundle({ script: `${name}/main.tsx`, style: `style/${name}/${name}.css` });
  await keep(`dist/${name}.html`, await pageWithPlace(title, parts));
}

/** What is added to the viewer's page: it has the tokens of the style already. */
async function bundleGraphs() {
  const parts = await bundle({ script: "cycles/in-recording.tsx", style: "style/cycles/in-recording.css" });
  await keep("dist/cycle-graphs.html", await withPlace("cycles/in-recording.html", parts));
}

async function bundleServer() {
  const parts = await bundle({ script: "server/main.tsx", style: "style/server/server.css" });
  await keep("dist/server.html", await filled("server/shell.html", parts));
  const { script } = await bundle({ script: "server/follow.ts" });
  await keep("dist/follow.js", script);
}

/** A file that would be the same stays untouched: cargo compiles what carries it anew whenever it is written, and the server with it. */
async function keep(file, text) {
  const path = join(here, file);
  const before = await readFile(path, "utf8").catch(() => null);
  if (before !== text) await writeFile(path, text);
}

/** `</script` and `</style` inside would end the page there. */
async function bundle({ script: entry, style: sheet }) {
  const shared = { bundle: true, minify: true, write: false, absWorkingDir: here, logLevel: "warning", charset: "utf8" };
  const script = await build({
    ...shared,
    entryPoints: [entry],
    format: "iife",
    target: ["chrome103", "firefox113", "safari16.4"],
    tsconfigRaw: { compilerOptions: { ...compilerOptions, jsx: "react", jsxFactory: "createElement", jsxFragmentFactory: "Fragment" } },
    // A script without JSX has no use for preact.
    inject: entry.endsWith(".tsx") ? [join(here, "jsx.js")] : [],
    define: { "process.env.NODE_ENV": '"production"' },
  });
  const style = sheet === undefined ? null : await build({ ...shared, entryPoints: [sheet] });
  // esbuild makes short names, and terser such as repeat: that is 3 % of the page.
  const { code } = await minify(script.outputFiles[0].text, { ecma: 2022, compress: { ecma: 2022 } });
  const parts = { script: code, style: style?.outputFiles[0].text.trim() ?? "" };
  if (/<\/script/i.test(parts.script)) throw new Error(`${entry}: its script holds \`</script\``);
  if (/<\/style/i.test(parts.style)) throw new Error(`${sheet}: it holds \`</style\``);
  return parts;
}

async function pageWithPlace(title, parts) {
  return (await withPlace("shell.html", parts)).replace("@TITLE@", () => title);
}

async function withPlace(shell, parts) {
  const page = await filled(shell, parts);
  if (page.split(numbers).length !== 2) throw new Error(`${shell} must hold ${numbers} exactly once`);
  return page;
}

async function filled(shell, { script, style }) {
  const text = await readFile(join(here, shell), "utf8");
  return text.replace("@STYLE@", () => style).replace("@SCRIPT@", () => script);
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
