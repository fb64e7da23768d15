// What JSX becomes calls of: esbuild adds this to each page (build.mjs).
export { createElement, Fragment } from "preact";
