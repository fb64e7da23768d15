// The reader's editor: remembered by the browser where it allows that, off until one is chosen.
import { signal } from "@preact/signals";
import { isEditorPattern } from "../../model/editor";

const KEY = "genba-editor";

function remembered(): string {
  try {
    const pattern = localStorage.getItem(KEY) ?? "";
    return isEditorPattern(pattern) ? pattern : "";
  } catch {
    // A browser that keeps nothing for pages from files.
    return "";
  }
}

/** A pattern of model/editor.ts, or "". */
export const editor = signal(remembered());

export function chooseEditor(pattern: string): void {
  editor.value = pattern;
  try {
    localStorage.setItem(KEY, pattern);
  } catch {
    // It holds until the page is closed.
  }
}
