// The numbers that lie inside the page: gzip in base64, unpacked by the browser itself. Nothing is requested.
import { decodeComparison } from "../../model/tables/comparison";
import type { Comparison } from "../../model/tables/comparison";
import { decodeRecording } from "../../model/tables/decode";
import type { Recording } from "../../model/tables/profile";

/** One recording, or two with what changed between them. */
export type Numbers = { readonly recording: Recording } | { readonly comparison: Comparison; readonly before: Recording; readonly after: Recording };

export async function readNumbers(): Promise<Numbers> {
  const packed = document.querySelector("[data-numbers]")?.textContent.trim() ?? "";
  if (packed === "") throw new Error("this page holds no recording");
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const value: unknown = JSON.parse(await new Response(unpacked).text());
  if (typeof value !== "object" || value === null || !("comparison" in value)) return { recording: decodeRecording(value) };
  const side = (name: "before" | "after"): Recording => decodeRecording(name in value ? (value as Record<string, unknown>)[name] : null);
  return { comparison: decodeComparison({ field: "comparison", value: value.comparison }), before: side("before"), after: side("after") };
}
