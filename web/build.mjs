// Builds the pages: dist/viewer.html, the viewer with its script and style packed inside and one place left for the numbers; dist/bench.html and
// dist/cycles.html, the same of `genba bench` and `genba gc cycles`; dist/cycle-graphs.html, which the viewer's page has besides where there are
// graphs of cycles; dist/server.html, all pages in front of the viewer, with script and style as they are; and dist/follow.js, which
// `genba serve` and `genba view` add to their page of a recording that grows.
// `--tests` bundles the model's tests for node's runner instead. Nothing is fetched.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { build } from "esbuild";
import { minify } from "terser";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
/** What a page may have of code and style before its numbers, compressed as `gzip -9` does: what is packed, before base64, and the loader. */
const VIEWER_BYTES_MAX = 60_000;
const numbers = "@GENBA_NUMBERS@"; // crates/page/src/lib.rs and tests/page put gzip + base64 here
// As tsc has them, but for JSX: calls whose children are arguments are shorter than those with an object that names its children.
const { compilerOptions } = JSON.parse(await readFile(join(here, "tsconfig.json"), "utf8"));
/** docs/viewer.md names them. */
const NEW_BROWSERS = { target: ["chrome103", "firefox113", "safari16.4"], ecma: 2022 };
/** Those that read a script far enough to say what they lack. */
const OLD_BROWSERS = { target: ["es2017"], ecma: 2017 };

if (process.argv.includes("--tests")) await bundleTests();
else {
  await mkdir(join(here, "dist"), { recursive: true });
  const { script: loader } = await bundle({ script: "loader.ts", browsers: OLD_BROWSERS });
  const graphs = await bundleGraphs(loader);
  await bundleViewer(loader, graphs);
  await bundleAlone("genba bench", "bench", loader);
  await bundleAlone("genba gc cycles", "cycles", loader);
  await bundleServer();
}

/** `graphs`: the script of the graphs of cycles, which crates/page adds to some pages; the policy inside of each allows it. */
async function bundleViewer(loader, graphs) {
  const parts = await bundle({ script: "main.tsx", style: "style/page.css" });
  const size = packed(parts).length + gzipped(loader).length;
  if (size > VIEWER_BYTES_MAX) {
    throw new Error(`viewer.html has ${size} bytes of code and style, compressed; the budget is ${VIEWER_BYTES_MAX}\nhint: look for dead or repeated code`);
  }
  await keep("dist/viewer.js", parts.script);
  await keep("dist/viewer.css", parts.style);
  await keep("dist/viewer.html", await page("genba", loader, parts, [graphs]));
}

/** A page that stands alone, beside the viewer. */
async function bundleAlone(title, name, loader) {
  const parts = await bundle({ script: `${name}/main.tsx`, style: `style/${name}/${name}.css` });
  await keep(`dist/${name}.html`, await page(title, loader, parts));
}

/** What is added to the viewer's page: it has the tokens of the style already. The answer is the script in it. */
async function bundleGraphs(loader) {
  const parts = await bundle({ script: "cycles/in-recording.tsx", style: "style/cycles/in-recording.css" });
  await keep("dist/cycle-graphs.html", await withPlace("cycles/in-recording.html", { CODE: packed(parts).toString("base64"), LOADER: loader }));
  return parts.script;
}

async function bundleServer() {
  const { script, style } = await bundle({ script: "server/main.tsx", style: "style/server/server.css" });
  await keep("dist/server.html", await filled("server/shell.html", { STYLE: style, SCRIPT: script }));
  const follow = await bundle({ script: "server/follow.ts" });
  await keep("dist/follow.js", follow.script);
}

/** A file that would be the same stays untouched: cargo compiles what carries it anew whenever it is written, and the server with it. */
async function keep(file, text) {
  const path = join(here, file);
  const before = await readFile(path, "utf8").catch(() => null);
  if (before !== text) await writeFile(path, text);
}

/** `</script` and `</style` inside would end the page there, or the packed style. */
async function bundle({ script: entry, style: sheet, browsers = NEW_BROWSERS }) {
  const shared = { bundle: true, minify: true, write: false, absWorkingDir: here, logLevel: "warning", charset: "utf8" };
  const script = await build({
    ...shared,
    entryPoints: [entry],
    format: "iife",
    target: browsers.target,
    tsconfigRaw: { compilerOptions: { ...compilerOptions, jsx: "react", jsxFactory: "createElement", jsxFragmentFactory: "Fragment" } },
    // A script without JSX has no use for preact.
    inject: entry.endsWith(".tsx") ? [join(here, "jsx.js")] : [],
    // The second is for a tool of developers that no page has.
    define: { "process.env.NODE_ENV": '"production"', "window.__PREACT_SIGNALS_DEVTOOLS__": "false" },
  });
  const style = sheet === undefined ? null : await build({ ...shared, entryPoints: [sheet] });
  // esbuild makes short names, and terser such as repeat: that is 3 % of the page. Constants stay on one side of a comparison: that repeats, too.
  const { code } = await minify(script.outputFiles[0].text, { ecma: browsers.ecma, compress: { ecma: browsers.ecma, lhs_constants: false } });
  const parts = { script: code, style: style?.outputFiles[0].text.trim() ?? "" };
  if (/<\/script/i.test(parts.script)) throw new Error(`${entry}: its script holds \`</script\``);
  if (/<\/style/i.test(parts.style)) throw new Error(`${sheet}: it holds \`</style\``);
  return parts;
}

/** A page with a place for numbers. Its policy allows the loader, the script that this unpacks, and `further` ones: no other. */
async function page(title, loader, parts, further = []) {
  const hashes = [loader, parts.script, ...further].map(hash).join(" ");
  return withPlace("shell.html", { HASHES: hashes, TITLE: title, CODE: packed(parts).toString("base64"), LOADER: loader });
}

/** The style's end is where loader.ts parts them. */
function packed({ script, style }) {
  return gzipped(`${style}</style>${script}`);
}

/** Without a name or a time in it. */
function gzipped(text) {
  return execFileSync("gzip", ["-9nc"], { input: text });
}

/** As a policy names a script. */
function hash(script) {
  return `'sha256-${createHash("sha256").update(script).digest("base64")}'`;
}

async function withPlace(shell, values) {
  const text = await filled(shell, values);
  if (text.split(numbers).length !== 2) throw new Error(`${shell} must hold ${numbers} exactly once`);
  return text;
}

async function filled(shell, values) {
  let text = await readFile(join(here, shell), "utf8");
  for (const [place, value] of Object.entries(values)) text = text.replace(`@${place}@`, () => value);
  return text;
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
