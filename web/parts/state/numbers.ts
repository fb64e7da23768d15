// The numbers that lie inside the page: gzip in base64, unpacked by the browser itself. Nothing is requested.
import { decodeRecording } from "../../model/tables/decode";
import type { Recording } from "../../model/tables/profile";

export async function readNumbers(): Promise<Recording> {
  const packed = document.querySelector("[data-numbers]")?.textContent.trim() ?? "";
  if (packed === "") throw new Error("this page holds no recording");
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const value: unknown = JSON.parse(await new Response(unpacked).text());
  return decodeRecording(value);
}
