// What the viewer's code may not do. Edges between model, draw and parts stand here too: model knows neither the page nor
// the network, draw knows rectangles and never a document.
import tseslint from "typescript-eslint";

const page = ["document", "window", "localStorage", "location", "navigator"];
const network = ["fetch", "XMLHttpRequest", "WebSocket", "EventSource"];
const noGlobals = (names, why) => ["error", ...names.map((name) => ({ name, message: why }))];
const noImports = (group, message) => ["error", { patterns: [{ group, message }] }];

export default tseslint.config(
  { ignores: ["dist/", "node_modules/"] },
  ...tseslint.configs.strictTypeChecked.map((config) => ({ ...config, files: ["**/*.ts", "**/*.tsx"] })),
  {
    files: ["**/*.ts", "**/*.tsx"],
    languageOptions: { parserOptions: { project: "./tsconfig.json", tsconfigRootDir: import.meta.dirname } },
    rules: {
      eqeqeq: "error",
      "no-alert": "error",
      "no-console": "error",
      "no-empty": ["error", { allowEmptyCatch: false }],
      "no-restricted-globals": noGlobals(network, "the page makes no request: its numbers are inside it"),
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/no-explicit-any": "error",
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
    },
  },
  {
    files: ["model/**"],
    rules: {
      "no-restricted-globals": noGlobals([...page, ...network], "model is pure: tables in, tables out"),
      "no-restricted-imports": noImports(["preact*", "@preact/*", "**/draw/*", "**/parts/*", "**/web/server/*"], "model imports nothing of ours"),
    },
  },
  {
    files: ["draw/**"],
    rules: {
      "no-restricted-globals": noGlobals([...page, ...network], "draw gets its canvas and colours handed in"),
      "no-restricted-imports": noImports(["preact*", "@preact/*", "**/parts/*"], "draw may import model only"),
    },
  },
  {
    files: ["bench/**", "cycles/**"],
    rules: { "no-restricted-imports": noImports(["**/draw/*", "**/web/server/*"], "a page that stands alone has model, and parts that know no recording") },
  },
  {
    // The pages in front of the viewer, and what follows a recording: the only part that asks the network anything, and only its own server.
    files: ["server/**"],
    rules: {
      "no-restricted-globals": noGlobals(["XMLHttpRequest", "WebSocket"], "server asks with fetch (api/ask.ts) and hears with EventSource"),
      "no-restricted-imports": noImports(["**/parts/*"], "server and the viewer's parts know nothing of each other"),
    },
  },
  {
    files: ["server/**"],
    ignores: ["server/api/**"],
    rules: { "no-restricted-globals": noGlobals(network, "requests are made in server/api") },
  },
  { files: ["**/*.test.ts"], rules: { "@typescript-eslint/no-floating-promises": "off" } },
);
