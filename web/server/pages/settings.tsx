// Settings of the server, and who is asking.
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { isAdmin } from "../../model/server/people";
import type { Settings } from "../../model/server/people";
import { plural, shown } from "../../model/words";
import { changeSettings } from "../api/requests";
import { ProblemWords, Segments, useAction } from "../frame/action";
import { keptWords } from "../frame/footer";
import type { Site } from "../state/site";

const DATABASES: Readonly<Record<string, string>> = { sqlite: "SQLite, in the server's own folder", postgres: "PostgreSQL" };
const STORES: Readonly<Record<string, string>> = { folder: "a folder", s3: "S3" };

export function SettingsPage({ site }: { site: Site }): JSX.Element {
  const { session, server } = site;
  const settings = site.settings.value;
  return (
    <section class="wide" data-settings>
      <h1>Settings</h1>
      {settings === null ? null : isAdmin(session) ? <Keep site={site} settings={settings} /> : <div class="card card-words"><h2>How long</h2><p>Recordings are {keptWords(settings)}.</p></div>}
      <div class="card card-words">
        <h2>This server</h2>
        <dl class="facts">
          <div><dt>version</dt><dd>genba {server.version}</dd></div>
          {settings === null ? null : (
            <>
              <div><dt>database</dt><dd>{DATABASES[settings.database] ?? settings.database}</dd></div>
              <div><dt>recordings in</dt><dd>{STORES[settings.store] ?? settings.store}</dd></div>
            </>
          )}
          <div><dt>its interface</dt><dd><a class="link" href="/api/openapi.yaml">openapi.yaml</a></dd></div>
        </dl>
      </div>
      <div class="card card-words">
        <h2>You</h2>
        <dl class="facts">
          <div><dt>name</dt><dd><bdi>{shown(session.name, 80)}</bdi></dd></div>
          <div><dt>may</dt><dd>{session.scopes.map((scope) => <span key={scope}><span class="tag">{scope}</span>{" "}</span>)}</dd></div>
          <div><dt>logged in</dt><dd>{session.login ? "with a token" : "no token is needed on this machine"}</dd></div>
        </dl>
      </div>
    </section>
  );
}

const KEEPS = ["days", "always"] as const;
const KEEP_WORDS = { days: "For some days", always: "Until deleted" } as const;
const DAYS_FIRST = 30;

function Keep({ site, settings }: { site: Site; settings: Settings }): JSX.Element {
  const kind = useSignal<(typeof KEEPS)[number]>(settings.keepDays === null ? "always" : "days");
  const days = useSignal(String(settings.keepDays ?? DAYS_FIRST));
  const saving = useAction();
  const said = useSignal<string | null>(null);
  const keepDays = kind.value === "always" ? null : Number(days.value);
  const isNumber = keepDays === null || (Number.isInteger(keepDays) && keepDays > 0);
  return (
    <form
      class="card card-words"
      data-keep
      onSubmit={(event) => {
        event.preventDefault();
        said.value = null;
        saving.run(async () => {
          site.settings.value = await changeSettings(keepDays);
          said.value = "Saved.";
        });
      }}
    >
      <h2>How long recordings are kept</h2>
      <div class="new-token-row">
        <Segments label="Recordings are kept" of={KEEPS} words={KEEP_WORDS} value={kind} />
        {kind.value === "always" ? null : (
          <label>
            <input
              type="number"
              min="1"
              max="36500"
              step="1"
              aria-label="Days"
              value={days.value}
              onInput={(event) => {
                days.value = event.currentTarget.value;
              }}
            />{" "}
            days
          </label>
        )}
        <span class="grow" />
        <button type="submit" class="button full" disabled={saving.isBusy.value || !isNumber || keepDays === settings.keepDays}>Save</button>
      </div>
      <p class="quiet">
        {keepDays === null ? "Nothing is deleted by itself." : isNumber ? `A recording is deleted ${plural(keepDays, "day")} after it was uploaded, with its links. Nobody can bring it back.` : "A whole number of days, from 1 on."}
      </p>
      {said.value === null ? null : <p role="status" data-saved>{said.value}</p>}
      <ProblemWords problem={saving.problem.value} />
    </form>
  );
}
