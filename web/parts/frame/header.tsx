// What was recorded, the weight, search, theme; below it what a filter kept and the recording's warnings, always in view.
import type { JSX, RefObject } from "preact";
import type { Profile } from "../../model/tables/profile";
import { weightsOf } from "../../model/tables/totals";
import type { Count, Ns, Weight } from "../../model/units";
import { bytesWords, countWords, keptWords, paceWords, plural, shareWords, timeWords, WEIGHT_WORDS } from "../../model/words";
import type { PageState } from "../state/page-state";
import { Segments, ThemeButton } from "./buttons";
import { Folded } from "./narrow";

export function Header({ state, search }: { state: PageState; search: RefObject<HTMLInputElement | null> }): JSX.Element {
  const { profile } = state.recording;
  return (
    <header>
      <span class="mark">genba</span>
      <h1 class="run" title={[profile.meta.title, ...interpreters(profile)].filter((line) => line !== null).join("\n")}>{profile.meta.title ?? profile.meta.recording ?? "a recording"}</h1>
      <span class="meta" title={summary(profile).join(" · ")}>{summary(profile).join(" · ")}</span>
      <span class="grow" />
      <Segments
        label="Weight"
        all={weightsOf(profile)}
        words={WEIGHT_WORDS}
        chosen={state.view.weight.value}
        attribute="data-weight"
        choose={(weight) => {
          state.view.weight.value = weight;
        }}
      />
      <Search state={state} search={search} />
      <ThemeButton view={state.view} />
    </header>
  );
}

function Search({ state, search }: { state: PageState; search: RefObject<HTMLInputElement | null> }): JSX.Element {
  const found = state.found.value;
  return (
    <span class="find">
      <input
        ref={search}
        type="search"
        placeholder="function, file, expression"
        aria-label="Find a function, file or expression"
        aria-keyshortcuts="/"
        value={state.filters.query.value}
        onInput={(event) => {
          state.filters.query.value = event.currentTarget.value;
        }}
      />
      {found === null ? <kbd>/</kbd> : (
        <output>
          {found.isWrong ? "not a pattern" : found.stops.length === 0 ? "nothing found" : `${countWords(found.stops.length as Count)} · ${shareWords(found.share)}`}
        </output>
      )}
    </span>
  );
}

/** Their paths: shown on hover. */
function interpreters({ processes }: Profile): (string | null)[] {
  return [...new Set(processes.filter((process) => process.refused === null).map((process) => process.executable))];
}

function summary(profile: Profile): string[] {
  const { meta } = profile;
  const processes = profile.processes.filter((process) => process.refused === null);
  const pythons = [...new Set(processes.map((process) => process.python).filter((python) => python !== null))];
  const threads = processes.reduce((sum, process) => sum + process.threads, 0);
  const imported = [...new Set(processes.map((process) => process.imported).filter((words) => words !== null))];
  // Sums with what a file does not tell are sums of nothing.
  const clocks = imported.length === 0 ? [`${timeWords(meta.wall)} wall`, cpuWords(profile)] : imported;
  const parts = [
    ...pythons.map((python) => `CPython ${python}`),
    ...clocks,
    `${plural(processes.length, "process", "processes")}, ${plural(threads, "thread")}`,
  ];
  const pace = paceWords(meta);
  if (pace !== null && imported.length === 0) parts.push(pace);
  if (meta.rssMaxBytes !== null) parts.push(`up to ${bytesWords(meta.rssMaxBytes)} resident`);
  if (meta.exitSignal !== null) parts.push(`ended by signal ${meta.exitSignal}`);
  else if (meta.exitCode !== null && meta.exitCode !== 0) parts.push(`exit code ${meta.exitCode}`);
  if (meta.startRealtimeMs !== null) parts.push(dateWords(meta.startRealtimeMs));
  parts.push(`genba ${meta.genbaVersion}`);
  return parts;
}

/** The program's own, and beside it what genba used in the same processes. */
function cpuWords({ clocks: { cpu, cpuGenba } }: Profile): string {
  const own = `${timeWords((cpu - cpuGenba) as Ns)} CPU`;
  return cpuGenba === 0 ? own : `${own} + ${timeWords(cpuGenba)} genba's`;
}

function dateWords(realtimeMs: number): string {
  return new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" }).format(realtimeMs);
}

/** Of a part of a recording: nobody may take it for the whole. */
export function Kept({ state }: { state: PageState }): JSX.Element | null {
  const { filters } = state.recording.profile;
  return filters === null ? null : <p class="kept">{keptWords(filters, state.view.weight.value)}</p>;
}

/** What a weight does not show. */
const UNSEEN: Readonly<Partial<Record<Weight, readonly string[]>>> = {
  copied: ["bytes copied by memcpy and memmove: copies that the compiler inlined, and those inside libc and the kernel, are not seen"],
  allocated: ["bytes asked for of CPython's allocator and of malloc, freed or not: no count of objects, for what CPython's free lists serve again is not seen"],
};

export function Warnings({ state }: { state: PageState }): JSX.Element | null {
  const { profile } = state.recording;
  const { defaultWeight, defaultWeightWhy } = profile.meta;
  const shown = defaultWeight === "wall" ? "wall time" : defaultWeight;
  const chosen = state.view.weight.value === defaultWeight && defaultWeightWhy !== null ? [`shown by ${shown}: ${defaultWeightWhy}`] : [];
  const unseen = UNSEEN[state.view.weight.value] ?? [];
  return <WarningList all={[...chosen, ...unseen, ...profile.warnings]} />;
}

export function WarningList({ all }: { all: readonly string[] }): JSX.Element | null {
  if (all.length === 0) return null;
  return (
    <div class="warnings">
      <Folded words={plural(all.length, "warning")}>
        <ul aria-label="Warnings">
          {all.map((warning) => (
            <li key={warning}>{warning}</li>
          ))}
        </ul>
      </Folded>
    </div>
  );
}
