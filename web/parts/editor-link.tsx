// The place of the selected box in the reader's own editor.
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { editorAddress, EDITORS, isEditorPattern } from "../model/editor";
import type { Frame } from "../model/tables/profile";
import { chooseEditor, editor } from "./state/editor";

const OWN = "own";

export function EditorLink({ frame }: { frame: Frame }): JSX.Element | null {
  const isOwn = useSignal(editor.value !== "" && EDITORS.every(({ pattern }) => pattern !== editor.value));
  const wrong = useSignal(false);
  if (frame.file === null) return null;
  const place = { path: frame.file, line: frame.line ?? frame.firstLine ?? 1, column: (frame.column ?? 0) + 1 };
  const address = editorAddress(editor.value, place);
  if (!place.path.startsWith("/")) return null;
  return (
    <p class="quiet editor">
      {address === null ? "Open in " : <a class="link" href={address}>Open in</a>}{" "}
      <select
        aria-label="Editor"
        value={isOwn.value ? OWN : editor.value}
        onChange={({ currentTarget: { value } }) => {
          isOwn.value = value === OWN;
          wrong.value = false;
          chooseEditor(value === OWN ? "" : value);
        }}
      >
        <option value="">no editor</option>
        {EDITORS.map(({ name, pattern }) => (
          <option key={name} value={pattern}>{name}</option>
        ))}
        <option value={OWN}>another…</option>
      </select>
      {isOwn.value ? (
        <input
          type="text"
          aria-label="Address of a line"
          aria-invalid={wrong.value}
          placeholder="scheme://{path}:{line}"
          value={editor.value}
          onChange={({ currentTarget: { value } }) => {
            wrong.value = value !== "" && !isEditorPattern(value);
            if (!wrong.value) chooseEditor(value);
          }}
        />
      ) : null}
      {wrong.value ? <span class="wrong" role="alert">a scheme of your editor and {"{path}"} are needed</span> : null}
    </p>
  );
}
