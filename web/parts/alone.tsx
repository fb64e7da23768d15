// Pages that stand alone, beside the viewer: how they open, and their theme.
import type { ComponentType } from "preact";
import { render } from "preact";
import { shown } from "../model/words";
import { unpackedNumbers } from "./state/packed";

const TITLE_CHARACTERS_MAX = 100;

interface Opening<Numbers> {
  /** What made it. */
  readonly command: string;
  /** What cannot be shown when it is damaged, and how a new page is made. */
  readonly what: string;
  readonly again: string;
  readonly decode: (value: unknown) => Numbers;
  readonly title: (numbers: Numbers) => string;
  readonly Page: ComponentType<{ numbers: Numbers }>;
}

export async function open<Numbers>({ command, what, again, decode, title, Page }: Opening<Numbers>): Promise<void> {
  const place = document.querySelector("[data-page]");
  if (place === null) return;
  document.documentElement.dataset["theme"] = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  try {
    const numbers = decode(await unpackedNumbers());
    document.title = `${shown(title(numbers), TITLE_CHARACTERS_MAX)} · ${command}`;
    render(<Page numbers={numbers} />, place);
    document.documentElement.dataset["painted"] = "true";
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    render(
      <div class="failed" role="alert">
        <h1>{what} cannot be shown</h1>
        <p>{why}</p>
        <p class="quiet">Run {again} again to make a new page.</p>
      </div>,
      place,
    );
  }
}

export function switchTheme(): void {
  const { dataset } = document.documentElement;
  dataset["theme"] = dataset["theme"] === "dark" ? "light" : "dark";
}

/** Its keys, by their letter; `t` is the theme on each page. Returns how to stop listening. */
export function onKeys(keys: Readonly<Record<string, () => void>>): () => void {
  const all: Readonly<Record<string, () => void>> = { t: switchTheme, ...keys };
  const onKey = (event: KeyboardEvent): void => {
    if (!event.ctrlKey && !event.metaKey && !event.altKey) all[event.key]?.();
  };
  addEventListener("keydown", onKey);
  return () => {
    removeEventListener("keydown", onKey);
  };
}
