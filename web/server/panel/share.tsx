// Links to one recording: a new one, those that there are, and their end.
import { useSignal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { fragmentOf, fragmentWords } from "../../model/server/addresses";
import { DAY_MS, exactMoment, momentWords } from "../../model/server/dates";
import type { Link, Recording } from "../../model/server/recordings";
import { isWorking, linkWords } from "../../model/server/summaries";
import type { Ms } from "../../model/units";
import { makeLink, readLinks, revokeLink } from "../api/requests";
import { Field, ProblemWords, Segments, useAction } from "../frame/action";
import type { ListState } from "../state/list-state";

const WHO = ["anyone", "token"] as const;
const WHO_WORDS = { anyone: "Anyone with it", token: "Only with a token" } as const;
const SPANS = ["1", "7", "30", "never"] as const;
const SPAN_WORDS = { 1: "1 day", 7: "7 days", 30: "30 days", never: "never" } as const;
/** Where nobody else comes. */
const OWN_MACHINE = ["localhost", "127.0.0.1", "[::1]"];

export function Share({ state, recording }: { state: ListState; recording: Recording }): JSX.Element {
  const links = useSignal<readonly Link[] | null>(null);
  const made = useSignal<Link | null>(null);
  const reading = useAction();
  const read = (): void => {
    reading.run(async () => {
      links.value = await readLinks(recording.id);
    });
  };
  useEffect(() => {
    if (recording.mayChange) read();
  }, [recording.id, recording.mayChange]);
  return (
    <>
      {recording.mayChange ? <NewLink state={state} recording={recording} made={made} onMade={(link) => { links.value = [link, ...(links.value ?? [])]; }} /> : null}
      <div>
        <h3>Links of this recording</h3>
        <ProblemWords problem={reading.problem.value} />
        {!recording.mayChange ? <p class="quiet" data-no-links>Its owner and admins make and see them.</p> : links.value === null ? null : links.value.length === 0 ? <p class="quiet" data-no-links>None yet.</p> : (
          <ul class="links">
            {links.value.map((link) => (
              <LinkRow
                key={link.code}
                state={state}
                link={link}
                onRevoked={() => {
                  if (made.value?.code === link.code) made.value = null;
                  read();
                }}
              />
            ))}
          </ul>
        )}
      </div>
    </>
  );
}

function NewLink({ state, recording, made, onMade }: { state: ListState; recording: Recording; made: Signal<Link | null>; onMade: (link: Link) => void }): JSX.Element {
  const who = useSignal<(typeof WHO)[number]>("anyone");
  const span = useSignal<(typeof SPANS)[number]>("7");
  const place = useSignal("");
  const making = useAction();
  const fragment = place.value.trim() === "" ? "" : fragmentOf(place.value);
  const link = made.value;
  const make = (): void => {
    making.run(async () => {
      const expires = span.value === "never" ? null : ((Date.now() + Number(span.value) * DAY_MS) as Ms);
      made.value = await makeLink(recording.id, { expires, needsToken: who.value === "token", fragment: fragment ?? "" });
      onMade(made.value);
    });
  };
  return (
    <form
      class="new-link"
      data-share
      onSubmit={(event) => {
        event.preventDefault();
        if (fragment !== null) make();
      }}
    >
      <h3>New link</h3>
      <Segments label="Who may open it" of={WHO} words={WHO_WORDS} value={who} />
      <span class="quiet">Expires after</span>
      <Segments label="Expires after" of={SPANS} words={SPAN_WORDS} value={span} />
      <label class="place">
        <span class="quiet">Opens at</span>
        <input
          type="text"
          value={place.value}
          placeholder="the first view, or an address from the viewer"
          autocomplete="off"
          spellcheck={false}
          data-place
          onInput={(event) => {
            place.value = event.currentTarget.value;
          }}
        />
      </label>
      {fragment === null ? <p class="quiet" role="status">That names no view: copy the whole address of the viewer, with what follows the #.</p> : fragment === "" ? null : <p class="quiet cut">{fragmentWords(fragment)}</p>}
      <button type="submit" class="button full" disabled={making.isBusy.value || fragment === null} data-make-link>Make the link</button>
      <ProblemWords problem={making.problem.value} />
      {link === null ? null : (
        <>
          <Field text={`${location.origin}${link.url}`} what="the link" />
          <p class="quiet" role="status" data-link-words>{readerWords(link, state.site.now.value)}</p>
        </>
      )}
    </form>
  );
}

function readerWords({ expires, needsToken }: Link, now: Ms): string {
  const who = needsToken ? "Whoever opens it with a token of this server" : "Whoever opens it";
  const until = expires === null ? "until it is revoked" : `until ${momentWords(expires, now)}`;
  const only = OWN_MACHINE.includes(location.hostname) ? " It works on this machine only, as the server does." : "";
  return `${who} sees this recording and nothing else, ${until}.${only}`;
}

function LinkRow({ state, link, onRevoked }: { state: ListState; link: Link; onRevoked: () => void }): JSX.Element {
  const revoking = useAction();
  const { now } = state.site;
  const works = isWorking(link, now.value);
  // Who sees the list may change the recording, and so end a link that anybody made.
  const mayRevoke = link.revoked === null;
  return (
    <li data-link={link.code}>
      <span class={works ? "" : "quiet"}>
        {works ? <a href={link.url}><code>{link.code}</code></a> : <code>{link.code}</code>}{" "}
        <span class="quiet" title={link.expires === null ? undefined : exactMoment(link.expires)}>{linkWords(link, now.value)}</span>
      </span>
      {mayRevoke ? (
        <button
          type="button"
          class="link"
          data-revoke
          aria-label={`Revoke ${link.code}`}
          disabled={revoking.isBusy.value}
          onClick={() => {
            revoking.run(async () => {
              await revokeLink(link.code);
              onRevoked();
            });
          }}
        >
          Revoke
        </button>
      ) : null}
      <ProblemWords problem={revoking.problem.value} />
    </li>
  );
}
