// Buttons that more than one part of the page has: a choice of one, the theme, and the list of keys.
import type { JSX } from "preact";
import type { ViewState } from "../state/view";

interface SegmentsOf<Name extends string> {
  readonly label: string;
  readonly all: readonly Name[];
  readonly words: Readonly<Record<Name, string>>;
  /** Null: none of them. */
  readonly chosen: Name | null;
  readonly attribute: `data-${string}`;
  readonly choose: (name: Name) => void;
  readonly titles?: Readonly<Record<Name, string>>;
}
export function Segments<Name extends string>({ label, all, words, chosen, attribute, choose, titles }: SegmentsOf<Name>): JSX.Element {
  return (
    <span class="segments" role="group" aria-label={label}>
      {all.map((name) => (
        <button
          type="button"
          key={name}
          {...{ [attribute]: name }}
          title={titles?.[name]}
          aria-pressed={chosen === name}
          onClick={() => {
            choose(name);
          }}
        >
          {words[name]}
        </button>
      ))}
    </span>
  );
}

export function ThemeButton({ view }: { view: ViewState }): JSX.Element {
  return <button type="button" class="plain" onClick={view.switchTheme}>{view.theme.value === "light" ? "Dark" : "Light"}</button>;
}

export function KeysButton({ view }: { view: ViewState }): JSX.Element {
  return (
    <button
      type="button"
      class="plain"
      onClick={() => {
        view.keysShown.value = true;
      }}
    >
      <kbd>?</kbd> keys
    </button>
  );
}
