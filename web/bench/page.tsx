// The page of `genba bench`: what is said of all commands, how far they are apart, and the runs of each.
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useMemo } from "preact/hooks";
import { rangeAround, ratioRows, scanOf } from "../model/bench/picture";
import type { Session } from "../model/bench/session";
import { plural } from "../model/words";
import { onKeys, switchTheme } from "../parts/alone";
import { Ratios } from "./ratios";
import { NO_TIME, Runs } from "./runs";
import { ScanPicture } from "./scan";

const SCALES = [["own", "Own scale"], ["same", "Same scale"]] as const;
type Scale = (typeof SCALES)[number][0];

export function BenchPage({ numbers: session }: { numbers: Session }): JSX.Element {
  const { commands, rounds, isInterleaved, isCut, reference, together, version } = session;
  const scale = useSignal<Scale>("own");
  const rows = useMemo(() => ratioRows(session), [session]);
  const scan = useMemo(() => scanOf(session), [session]);
  const all = useMemo(() => rangeAround(commands.flatMap(({ times }) => times), NO_TIME), [commands]);
  // Before the first picture, as in the viewer.
  useLayoutEffect(() => onKeys({
    s: () => {
      if (commands.length > 1) scale.value = scale.value === "own" ? "same" : "own";
    },
  }), [commands, scale]);
  return (
    <>
      <header>
        <h1 class="mark">genba bench</h1>
        <span class="meta" data-how>
          {plural(commands.length, "command")}{commands.length < 2 ? "" : isInterleaved ? `, ${plural(rounds, "round")} in turns` : ", one after the other"}{isCut ? ", stopped early" : ""}
        </span>
        <span class="grow" />
        {commands.length < 2 ? null : (
          <span class="segments" role="group" aria-label="Scale of the pictures">
            {SCALES.map(([name, words]) => (
              <button
                key={name}
                type="button"
                aria-pressed={scale.value === name}
                onClick={() => {
                  scale.value = name;
                }}
              >
                {words}
              </button>
            ))}
          </span>
        )}
        <button type="button" class="plain" onClick={switchTheme}>Theme</button>
      </header>
      <main class="alone">
        {together === "" ? null : (
          <section data-together>
            <h2>Comparison</h2>
            {rows.length === 0 ? null : <Ratios rows={rows} reference={reference} />}
            <pre>{together}</pre>
          </section>
        )}
        {scan === null ? null : <ScanPicture scan={scan} unit={session.unit} />}
        {commands.map((command, place) => (
          <Runs key={place} command={command} unit={session.unit} range={scale.value === "same" ? all : null} />
        ))}
      </main>
      <footer>
        <span>genba {version}</span>
        <span class="grow" />
        {commands.length < 2 ? null : <span class="keys"><kbd>s</kbd> scale</span>}
        <span class="keys"><kbd>t</kbd> theme</span>
        <span class="keys"><kbd>←</kbd> <kbd>→</kbd> runs of the selected picture</span>
      </footer>
    </>
  );
}
