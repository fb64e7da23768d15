// The page: header, verdict, warnings, rows over the call tree with the panel beside them, the accounting at the bottom.
import type { JSX } from "preact";
import { effect } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { CompareFooter, CompareHeader, isCompared } from "./frame/compare-frame";
import { Footer } from "./frame/footer";
import { Header, Kept, WarningList, Warnings } from "./frame/header";
import { useAddress } from "./state/address";
import { KeysDialog, useKeys } from "./keys";
import type { PageState } from "./state/page-state";
import { Panel } from "./panel";
import { Strip } from "./frame/strip";
import { Tip } from "./tip";
import { Chips, Tabs, VIEW_WORDS } from "./frame/tabs";
import { Verdict } from "./frame/verdict";
import { View } from "./view";

export function Page({ state, onPainted }: { state: PageState; onPainted: () => void }): JSX.Element {
  const search = useRef<HTMLInputElement>(null);
  useKeys(state, search);
  useAddress(state);
  // Before the first picture, as the keys are.
  useLayoutEffect(
    () =>
      effect(() => {
        document.documentElement.dataset["theme"] = state.view.theme.value;
      }),
    [state],
  );
  const compared = isCompared(state) ? state.comparison : null;
  if (compared !== null) {
    return (
      <>
        <div class="top">
          <CompareHeader state={state} of={compared} />
          <Tabs state={state} />
          <WarningList all={compared.data.warnings} />
        </div>
        <main class="compared">
          <div class="stage" role="tabpanel" aria-label={VIEW_WORDS.compare}>
            <View state={state} onPainted={onPainted} />
          </div>
        </main>
        <CompareFooter state={state} of={compared} />
        <KeysDialog state={state} />
      </>
    );
  }
  return (
    <>
      <div class="top">
        <Header state={state} search={search} />
        <Strip state={state} />
        <Tabs state={state} />
        <Kept state={state} />
        <Chips state={state} />
        <Verdict state={state} />
        <Warnings state={state} />
      </div>
      <main>
        <div class="stage" role="tabpanel" aria-label={VIEW_WORDS[state.view.name.value]}>
          <View state={state} onPainted={onPainted} />
        </div>
        <Panel state={state} />
      </main>
      <Footer state={state} />
      <Tip state={state} />
      <KeysDialog state={state} />
    </>
  );
}
