// The pages, the server's name and size, and who is logged in.
import type { JSX } from "preact";
import { isAdmin } from "../../model/server/people";
import { bytesWords, plural, visible } from "../../model/words";
import { isAway } from "../api/ask";
import { logOut } from "../api/requests";
import type { Site } from "../state/site";
import { switchTheme } from "../state/site";
import { ProblemWords, useAction } from "./action";

export type PageName = "/" | "/tokens" | "/settings";

export function Header({ site, page }: { site: Site; page: PageName }): JSX.Element {
  const counts = site.counts.value;
  const about = [location.host, ...(counts === null ? [] : [plural(counts.all, "recording"), ...(counts.all === 0 ? [] : [bytesWords(counts.allBytes)])])];
  const pages: readonly (readonly [PageName, string])[] = [["/", "Recordings"], ...(isAdmin(site.session) ? ([["/tokens", "Tokens"]] as const) : []), ["/settings", "Settings"]];
  return (
    <div class="top">
      <header>
        <a class="mark" href="/">genba</a>
        <nav aria-label="Pages">
          {pages.map(([path, words]) => (
            <a key={path} href={path} aria-current={page === path ? "page" : undefined}>{words}</a>
          ))}
        </nav>
        <span class="grow" />
        <span class="meta cut" data-meta>{about.join(" · ")}</span>
        <Person site={site} />
      </header>
      {isAway.value ? <p class="away" role="status" data-away>The server does not answer. This page tries again every few seconds.</p> : null}
    </div>
  );
}

function Person({ site: { session } }: { site: Site }): JSX.Element {
  const leave = useAction();
  const scope = session.scopes.includes("admin") ? "admin" : session.scopes.join(", ");
  return (
    <details class="person">
      <summary data-person><span class="cut">{visible(session.name)}</span> <span class="person-may">· {session.login ? scope : "no login"}</span></summary>
      <div>
        <button type="button" class="link" onClick={switchTheme}>Light or dark</button>
        {session.login ? (
          <button
            type="button"
            class="link"
            data-log-out
            disabled={leave.isBusy.value}
            onClick={() => {
              leave.run(async () => {
                await logOut();
                location.assign("/login");
              });
            }}
          >
            Log out
          </button>
        ) : <span class="quiet">Everybody who can reach this address may do everything: it is open on this machine only.</span>}
        <ProblemWords problem={leave.problem.value} />
      </div>
    </details>
  );
}
