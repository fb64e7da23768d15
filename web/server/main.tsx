// Opens the page that the address names: the list, tokens, settings or the login.
import { render } from "preact";
import type { JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { isAdmin } from "../model/server/people";
import type { Settings } from "../model/server/people";
import { problemFrom } from "./api/ask";
import type { Problem } from "./api/ask";
import { readRecordings, readServer, readSession, readSettings } from "./api/requests";
import { ProblemWords } from "./frame/action";
import { Footer } from "./frame/footer";
import { Header } from "./frame/header";
import type { PageName } from "./frame/header";
import { KeysDialog, siteBindings, useKeys } from "./frame/keys";
import { ListPage } from "./list/list";
import { LoginPage } from "./pages/login";
import { SettingsPage } from "./pages/settings";
import { TokensPage } from "./pages/tokens";
import { createSite, startTheme } from "./state/site";
import type { Site } from "./state/site";

const AGAIN_MS = 5_000;
const TITLES: Readonly<Record<PageName, string>> = { "/": "Recordings", "/tokens": "Tokens", "/settings": "Settings" };

startTheme();
const place = document.querySelector("[data-page]");
if (place !== null) void open(place);

async function open(place: Element): Promise<void> {
  if (location.pathname === "/login") {
    document.title = "Log in · genba";
    render(<LoginPage />, place);
    return;
  }
  const page = pageOf(location.pathname);
  document.title = `${TITLES[page]} · genba`;
  try {
    const [server, session] = await Promise.all([readServer(), readSession()]);
    const site = createSite(server, session, await settingsIfAllowed());
    render(page === "/" ? <ListPage site={site} /> : <OtherPage site={site} page={page} />, place);
  } catch (error) {
    const problem = problemFrom(error);
    if (problem === null) return;
    render(<Failed problem={problem} />, place);
    setTimeout(() => void open(place), AGAIN_MS);
  }
}

function pageOf(path: string): PageName {
  return path === "/tokens" || path === "/settings" ? path : "/";
}

/** A token that may only write reads no settings. */
async function settingsIfAllowed(): Promise<Settings | null> {
  try {
    return await readSettings();
  } catch (error) {
    const problem = problemFrom(error);
    if (problem?.status === 403) return null;
    throw error;
  }
}

function OtherPage({ site, page }: { site: Site; page: "/tokens" | "/settings" }): JSX.Element {
  const bindings = useMemo(() => siteBindings(site), [site]);
  useKeys(bindings, site);
  useEffect(() => {
    const count = async (): Promise<void> => {
      try {
        site.counts.value = await readRecordings({ query: "", sort: "newest" }, { limit: 1 });
      } catch (error) {
        // The numbers at the edge are left out.
        if (problemFrom(error) === null) return;
      }
    };
    void count();
    document.documentElement.dataset["painted"] = "true";
  }, [site]);
  return (
    <>
      <Header site={site} page={page} />
      <main class="one">
        {page === "/settings" ? <SettingsPage site={site} /> : isAdmin(site.session) ? <TokensPage site={site} /> : (
          <section class="wide">
            <h1>Tokens</h1>
            <p>Only admins see tokens. You are <b>{site.session.name}</b>, who may {site.session.scopes.join(" and ")}.</p>
          </section>
        )}
      </main>
      <Footer site={site} />
      <KeysDialog site={site} bindings={bindings} />
    </>
  );
}

function Failed({ problem }: { problem: Problem }): JSX.Element {
  return (
    <main class="login">
      <div class="card card-words">
        <span class="mark">genba</span>
        <ProblemWords problem={problem} />
        <p class="quiet">This page tries again every few seconds.</p>
      </div>
    </main>
  );
}
