// What a narrow or a low screen folds: a list behind its count.
import { useSignal } from "@preact/signals";
import type { ReadonlySignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect } from "preact/hooks";

/** `media`: as in the style. */
export function useNarrow(media: string): ReadonlySignal<boolean> {
  const isNarrow = useSignal(matchMedia(media).matches);
  useLayoutEffect(() => {
    const query = matchMedia(media);
    const onChange = (): void => {
      isNarrow.value = query.matches;
    };
    query.addEventListener("change", onChange);
    return () => {
      query.removeEventListener("change", onChange);
    };
  }, [isNarrow, media]);
  return isNarrow;
}

/** From here on the panel is a sheet. */
export const PHONE = "(max-width: 760px)";
/** Lists would leave no room for the views. */
const FOLDS = `${PHONE}, (max-height: 620px)`;

/** On a phone, upright or not, `words` alone, until they are asked for more. */
export function Folded({ words, children }: { words: string; children: ComponentChildren }): JSX.Element {
  return useNarrow(FOLDS).value ? <details><summary>{words}</summary>{children}</details> : <>{children}</>;
}
