// What lies packed inside a page: gzip in base64, unpacked by the browser itself. Nothing is requested.

/** The page's loader (loader.ts) begins with the numbers while the script that reads them is packed, too. */
interface Begun extends Element {
  begun?: Promise<string>;
}

export async function unpacked(place: Element): Promise<string> {
  const letters = atob(place.textContent.trim());
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = letters.charCodeAt(at);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

/** For `unpackedNumbers`, which hears of an error. */
export function begin(place: Begun): void {
  place.begun = unpacked(place);
  place.begun.catch(() => undefined);
}

/** Once: of a large page these are many megabytes, which the page does not keep. */
export async function unpackedNumbers(): Promise<unknown> {
  const place = document.querySelector<Begun>("[data-numbers]");
  if (place?.begun === undefined) throw new Error("this page holds no numbers");
  const text = place.begun;
  delete place.begun;
  return JSON.parse(await text);
}
