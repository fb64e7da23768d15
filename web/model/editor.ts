// Addresses that open a line in the reader's own editor.
// Keeps: an address goes to a program on the reader's machine, never to the network, and runs nothing in the page.

export interface Editor {
  readonly name: string;
  /** `{path}`, `{line}` and `{column}` stand for the place; lines and columns count from 1. */
  readonly pattern: string;
}

export const EDITORS: readonly Editor[] = [
  { name: "VS Code", pattern: "vscode://file{path}:{line}:{column}" },
  { name: "PyCharm", pattern: "pycharm://open?file={path}&line={line}&column={column}" },
  { name: "Zed", pattern: "zed://file{path}:{line}:{column}" },
];

/** Schemes of browsers: pages, scripts, the network. */
const OF_BROWSERS = ["http", "https", "ws", "wss", "ftp", "file", "data", "blob", "javascript", "vbscript", "about", "view-source"];

export function isEditorPattern(pattern: string): boolean {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(pattern)?.[1]?.toLowerCase();
  return scheme !== undefined && !OF_BROWSERS.includes(scheme) && pattern.includes("{path}");
}

/** Null: the pattern is none, or the place is in no file (`<string>`). */
export function editorAddress(pattern: string, place: { path: string; line: number; column: number }): string | null {
  if (!isEditorPattern(pattern) || !place.path.startsWith("/")) return null;
  // Two slashes at the beginning would be a host.
  const path = place.path.replace(/^\/+/, "/").split("/").map(encodeURIComponent).join("/");
  return pattern.replace("{path}", () => path).replace("{line}", `${place.line}`).replace("{column}", `${place.column}`);
}
