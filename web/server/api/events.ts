// A live recording as it grows: the server's events of one recording.
import { decodeFacts } from "../../model/server/recordings";
import type { Facts } from "../../model/server/recordings";
import { Damaged, object, whole } from "../../model/tables/read";
import { recordingPath } from "./requests";

export interface Events {
  readonly onGrown: (bytes: number, facts: Facts | null) => void;
  /** `sealed` or `gone`: nothing comes after it. */
  readonly onEnd: () => void;
  /** The server refused, or it is of another version. */
  readonly onFailed: () => void;
}

/** Returns what ends it. The browser connects again by itself when the connection breaks. */
export function follow(id: string, { onGrown, onEnd, onFailed }: Events): () => void {
  const source = new EventSource(recordingPath(id, "/events"));
  const stop = (): void => {
    source.close();
  };
  source.addEventListener("grown", ({ data }: MessageEvent<string>) => {
    try {
      const field = object({ field: "", value: JSON.parse(data) });
      onGrown(whole(field("bytes")), decodeFacts(field("facts")));
    } catch (error) {
      if (!(error instanceof SyntaxError || error instanceof Damaged)) throw error;
      stop();
      onFailed();
    }
  });
  source.addEventListener("error", () => {
    if (source.readyState === EventSource.CLOSED) onFailed();
  });
  for (const end of ["sealed", "gone"]) {
    source.addEventListener(end, () => {
      stop();
      onEnd();
    });
  }
  return stop;
}
