// Tokens: who has which, a new one, and the end of one. For admins.
import { useComputed, useSignal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { EXPIRIES, EXPIRY_DAYS, EXPIRY_WORDS, tokenCommand } from "../../model/server/commands";
import type { Expiry } from "../../model/server/commands";
import { DAY_MS, dayWords, exactMoment, usedWords } from "../../model/server/dates";
import { shown } from "../../model/words";
import type { Scope, Token } from "../../model/server/people";
import type { Ms } from "../../model/units";
import { makeToken, readTokens, revokeToken, rotateToken } from "../api/requests";
import type { MadeToken } from "../api/requests";
import { Field, ProblemWords, Segments, Sure, useAction } from "../frame/action";
import type { Action } from "../frame/action";
import type { Site } from "../state/site";

const NAME_MAX = 60;
const SCOPE_CHOICES = ["read", "write", "read, write", "admin"] as const;
type ScopeChoice = (typeof SCOPE_CHOICES)[number];
const SCOPE_WORDS: Readonly<Record<ScopeChoice, string>> = { read: "read", write: "write", "read, write": "read, write", admin: "admin" };
const SCOPES_OF: Readonly<Record<ScopeChoice, readonly Scope[]>> = { read: ["read"], write: ["write"], "read, write": ["read", "write"], admin: ["admin"] };

export function TokensPage({ site }: { site: Site }): JSX.Element {
  const tokens = useSignal<readonly Token[] | null>(null);
  /** The last one that was made or rotated: its secret is nowhere else. */
  const made = useSignal<MadeToken | null>(null);
  const reading = useAction();
  useEffect(() => {
    reading.run(async () => {
      tokens.value = await readTokens();
    });
  }, []);
  const put = (token: Token): void => {
    const others = tokens.value ?? [];
    tokens.value = others.some(({ name }) => name === token.name) ? others.map((other) => (other.name === token.name ? token : other)) : [...others, token];
  };
  return (
    <section class="wide" data-tokens>
      <div>
        <h1>Tokens</h1>
        <p class="quiet">A token lets a program or a person in. The page logs in with one; there are no passwords.</p>
      </div>
      <ProblemWords problem={reading.problem.value} />
      {tokens.value === null ? null : <TokenTable site={site} tokens={tokens} made={made} onToken={put} />}
      <NewToken made={made} onToken={put} />
    </section>
  );
}

function TokenTable({ site, tokens, made, onToken }: { site: Site; tokens: Signal<readonly Token[] | null>; made: Signal<MadeToken | null>; onToken: (token: Token) => void }): JSX.Element {
  const all = tokens.value ?? [];
  const rotated = made.value !== null && all.find(({ name }) => name === made.value?.token.name);
  return (
    <div class="card">
      {all.length === 0 ? <p class="quiet card-words">No tokens yet. Everybody who reaches this address from this machine may do everything. Make a token before the server listens to others: from the first token on, everybody needs one.</p> : (
        <table class="tokens">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">May</th>
              <th scope="col">Made</th>
              <th scope="col">Last used</th>
              <th scope="col">Expires</th>
              <th scope="col"><span class="spoken">Change</span></th>
            </tr>
          </thead>
          <tbody>
            {all.map((token) => <TokenRow key={token.name} site={site} token={token} made={made} onToken={onToken} />)}
          </tbody>
        </table>
      )}
      {rotated === false || rotated === undefined || made.value === null ? null : <Secret made={made.value} />}
    </div>
  );
}

function TokenRow({ site, token, made, onToken }: { site: Site; token: Token; made: Signal<MadeToken | null>; onToken: (token: Token) => void }): JSX.Element {
  const asks = useSignal<"rotate" | "revoke" | null>(null);
  const doing = useAction();
  const now = site.now.value;
  const isGone = token.revoked !== null || (token.expires !== null && token.expires <= now);
  const isOwn = site.session.login && token.name === site.session.name;
  const name = shown(token.name, NAME_MAX);
  return (
    <>
      <tr class={isGone ? "gone" : ""} data-token={token.name}>
        <th scope="row"><bdi>{name}</bdi></th>
        <td data-label="May"><span>{token.scopes.map((scope) => <span key={scope}><span class="tag">{scope}</span>{" "}</span>)}</span></td>
        <td data-label="Made" title={exactMoment(token.made)}>{dayWords(token.made, now)}</td>
        <td data-label="Last used" title={token.used === null ? undefined : exactMoment(token.used)}>{isOwn ? "now, this page" : usedWords(token.used, now)}</td>
        <td data-label="Expires" title={token.expires === null ? undefined : exactMoment(token.expires)}>{expiryWords(token, now)}</td>
        <td>
          {token.revoked === null ? (
            <>
              <button type="button" class="link" data-rotate aria-label={`Rotate ${name}`} onClick={() => { asks.value = "rotate"; }}>Rotate</button>
              {" · "}
              <button type="button" class="link" data-revoke aria-label={`Revoke ${name}`} onClick={() => { asks.value = "revoke"; }}>Revoke</button>
            </>
          ) : null}
        </td>
      </tr>
      {asks.value === null && doing.problem.value === null ? null : (
        <tr class="asked">
          <td colSpan={6}>
            <Asked asks={asks} doing={doing} name={name} isOwn={isOwn} onYes={async () => {
              if (asks.value === "rotate") {
                const { token: fresh, secret } = await rotateToken(token.name);
                made.value = { token: fresh, secret };
                onToken(fresh);
              } else {
                await revokeToken(token.name);
                onToken({ ...token, revoked: Date.now() as Ms });
              }
              asks.value = null;
            }} />
          </td>
        </tr>
      )}
    </>
  );
}

function Asked({ asks, doing, name, isOwn, onYes }: { asks: Signal<"rotate" | "revoke" | null>; doing: Action; name: string; isOwn: boolean; onYes: () => Promise<void> }): JSX.Element {
  const own = isOwn ? " You are logged in with it." : "";
  const questions = { rotate: `Rotate ${name}? The secret that is in use now stops working at once.${own}`, revoke: `Revoke ${name}? Whoever uses it is logged out at once, for good.${own}` };
  return (
    <>
      {asks.value === null ? null : (
        <Sure
          question={questions[asks.value]}
          yes={asks.value === "rotate" ? "Rotate" : "Revoke"}
          busy={doing.isBusy.value}
          onYes={() => {
            doing.run(onYes);
          }}
          onNo={() => {
            asks.value = null;
            doing.problem.value = null;
          }}
        />
      )}
      <ProblemWords problem={doing.problem.value} />
    </>
  );
}

function expiryWords({ revoked, expires }: Token, now: Ms): string {
  if (revoked !== null) return `revoked ${dayWords(revoked, now)}`;
  if (expires === null) return "never";
  return expires <= now ? `expired ${dayWords(expires, now)}` : dayWords(expires, now);
}

function Secret({ made: { token, secret } }: { made: MadeToken }): JSX.Element {
  return (
    <div class="secret" role="status" data-secret>
      <Field text={secret} what={`the token ${shown(token.name, NAME_MAX)}`} />
      <p class="quiet"><b>{shown(token.name, NAME_MAX)}</b>: shown once, now; only its hash is kept.</p>
    </div>
  );
}

function NewToken({ made, onToken }: { made: Signal<MadeToken | null>; onToken: (token: Token) => void }): JSX.Element {
  const name = useSignal("");
  const scope = useSignal<ScopeChoice>("read, write");
  const expiry = useSignal<Expiry>("1y");
  const making = useAction();
  const command = useComputed(() => tokenCommand(name.value.trim(), SCOPES_OF[scope.value], expiry.value));
  return (
    <>
      <form
        class="card new-token"
        data-new-token
        onSubmit={(event) => {
          event.preventDefault();
          making.run(async () => {
            const days = EXPIRY_DAYS[expiry.value];
            const fresh = await makeToken(name.value.trim(), SCOPES_OF[scope.value], days === null ? null : ((Date.now() + days * DAY_MS) as Ms));
            made.value = fresh;
            name.value = "";
            onToken(fresh.token);
          });
        }}
      >
        <h2>New token</h2>
        <div class="new-token-row">
          <input
            type="text"
            aria-label="Name of the new token"
            placeholder="name, such as ci-orders"
            required
            autocomplete="off"
            spellcheck={false}
            value={name.value}
            onInput={(event) => {
              name.value = event.currentTarget.value;
            }}
          />
          <Segments label="May" of={SCOPE_CHOICES} words={SCOPE_WORDS} value={scope} />
          <Segments label="Expires after" of={EXPIRIES} words={EXPIRY_WORDS} value={expiry} />
          <span class="grow" />
          <button type="submit" class="button full" disabled={making.isBusy.value}>Make</button>
        </div>
        <p class="quiet">{scopeWords(scope.value)}</p>
        <ProblemWords problem={making.problem.value} />
      </form>
      <Field text={command.value} what="the command"><span class="quiet">the same in a terminal</span></Field>
    </>
  );
}

function scopeWords(choice: ScopeChoice): string {
  switch (choice) {
    case "read":
      return "Sees every recording and changes nothing.";
    case "write":
      return "Uploads, and sees its own recordings only: for machines.";
    case "read, write":
      return "Sees every recording, uploads, and changes its own.";
    case "admin":
      return "May do everything: tokens, settings, and the recordings of others.";
  }
}
