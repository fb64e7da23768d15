// How much is here and for how long, and the keys that matter.
import type { ComponentChildren, JSX } from "preact";
import { plural } from "../../model/words";
import { matchedWords } from "../../model/server/recordings";
import type { Settings } from "../../model/server/people";
import type { Counts, Site } from "../state/site";

export function Footer({ site, children }: { site: Site; children?: ComponentChildren }): JSX.Element {
  const counts = site.counts.value;
  const settings = site.settings.value;
  return (
    <footer>
      {counts === null ? null : <span class="counted" data-counted>{countWords(counts)}</span>}
      {counts === null || counts.live === 0 ? null : <span>{counts.live} live</span>}
      {settings === null ? null : <span data-kept>{keptWords(settings)}</span>}
      <span class="grow" />
      <span class="keys">
        {children}
        <button
          type="button"
          onClick={() => {
            site.keysShown.value = true;
          }}
        >
          <kbd>?</kbd> keys
        </button>
      </span>
    </footer>
  );
}

function countWords(counts: Counts): string {
  if (counts.all === 0) return "no recordings";
  return counts.matched === counts.all ? plural(counts.all, "recording") : `${matchedWords(counts)} of ${plural(counts.all, "recording")}`;
}

export function keptWords({ keepDays }: Settings): string {
  return keepDays === null ? "kept until somebody deletes them" : `kept ${plural(keepDays, "day")}`;
}
