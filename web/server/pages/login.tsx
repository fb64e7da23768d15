// One field for a token. Leads to a path of this server afterwards, never elsewhere.
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { nextOf } from "../../model/server/addresses";
import { isAway } from "../api/ask";
import { logIn, readServer } from "../api/requests";
import { ProblemWords, useAction } from "../frame/action";

export function LoginPage(): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  const isOpen = useSignal(false);
  const asking = useAction();
  const loggingIn = useAction();
  const next = nextOf(location.search, location.origin, location.hash);
  // Before the first picture: who sees the field may type.
  useLayoutEffect(() => {
    input.current?.focus();
    asking.run(async () => {
      isOpen.value = !(await readServer()).login;
    });
    document.documentElement.dataset["painted"] = "true";
  }, []);
  return (
    <main class="login">
      <form
        class="card card-words"
        data-login
        onSubmit={(event) => {
          event.preventDefault();
          const token = input.current?.value.trim() ?? "";
          if (token === "") return;
          loggingIn.run(async () => {
            await logIn(token);
            location.replace(next);
          });
        }}
      >
        <span class="mark">genba</span>
        <h1>Log in to {location.host}</h1>
        {isOpen.value ? <p>No token is needed here. <a class="link" href={next}>Go on</a></p> : (
          <>
            <label class="quiet" for="token">Your token</label>
            <div class="login-row">
              <input ref={input} id="token" name="token" type="password" autocomplete="current-password" spellcheck={false} placeholder="genba_…" required />
              <button type="submit" class="button full" disabled={loggingIn.isBusy.value}>Log in</button>
            </div>
            <p class="quiet">Whoever runs this server makes tokens, on the page Tokens or with <code>genba serve token add NAME</code>.</p>
          </>
        )}
        <ProblemWords problem={loggingIn.problem.value ?? (isAway.value ? asking.problem.value : null)} />
      </form>
    </main>
  );
}
