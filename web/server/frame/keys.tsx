// The keys of the list and of the other pages, and the page that lists them.
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { switchTheme } from "../state/site";
import type { Site } from "../state/site";

export interface Binding {
  readonly keys: readonly string[];
  readonly shown: string;
  /** Empty: another row of the page of keys says it. */
  readonly does: string;
  /** False: the key is not for us here, and the browser has it. */
  readonly run: () => boolean | undefined;
}

export function siteBindings(site: Site): readonly Binding[] {
  return [
    { keys: ["t"], shown: "t", does: "light or dark", run: () => (switchTheme(), true) },
    { keys: ["?"], shown: "?", does: "these keys", run: () => (site.keysShown.value = true) },
  ];
}

/** Texts, buttons and links have keys of their own; rows of the list have ours. */
export function useKeys(bindings: readonly Binding[], site: Site): void {
  // Before the first picture: who sees the page may type.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || site.keysShown.value) return;
      const target = event.target instanceof HTMLElement ? event.target : document.body;
      if (target.closest("input:not([type=checkbox]), select, textarea, dialog") !== null) return;
      const isPress = event.key === "Enter" || event.key === " ";
      if (isPress && target.closest("button, summary, a, input") !== null) return;
      const binding = bindings.find(({ keys }) => keys.includes(event.key));
      if (binding !== undefined && binding.run() !== false) event.preventDefault();
    };
    window.addEventListener("keydown", onKey);
    return () => {
      window.removeEventListener("keydown", onKey);
    };
  }, [bindings, site]);
}

export function KeysDialog({ site, bindings }: { site: Site; bindings: readonly Binding[] }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const shown = site.keysShown.value;
  // At once: the next key may be the one that closes it.
  useLayoutEffect(() => {
    if (shown) dialog.current?.showModal();
    else dialog.current?.close();
  }, [shown]);
  return (
    <dialog
      ref={dialog}
      aria-label="Keys"
      data-keys
      onClose={() => {
        site.keysShown.value = false;
      }}
    >
      <h2>Keys</h2>
      <dl>
        {bindings.filter(({ does }) => does !== "").map(({ shown: key, does }) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button type="submit" class="plain">Close</button>
      </form>
    </dialog>
  );
}
