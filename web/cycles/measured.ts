// How wide a text of the graph is, in its letters.

/** A letter of most monospaced fonts, where nothing measures. */
const LETTER_PX = 7.3;

export function measured(): (text: string) => number {
  const pen = document.createElement("canvas").getContext("2d");
  if (pen === null) return (text) => text.length * LETTER_PX;
  pen.font = getComputedStyle(document.documentElement).getPropertyValue("--label");
  return (text) => pen.measureText(text).width;
}
