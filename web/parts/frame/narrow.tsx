// What a narrow screen folds: a list behind its count.
import { useSignal } from "@preact/signals";
import type { ReadonlySignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect } from "preact/hooks";

/** `below`: in CSS pixels. */
export function useNarrow(below: number): ReadonlySignal<boolean> {
  const media = `(max-width: ${below}px)`;
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

/** As in the style: from here on the panel is a sheet. */
const PHONE_PX = 760;

/** On a phone `words` alone, until they are asked for more. */
export function Folded({ words, children }: { words: string; children: ComponentChildren }): JSX.Element {
  return useNarrow(PHONE_PX).value ? <details><summary>{words}</summary>{children}</details> : <>{children}</>;
}
