// Text into the clipboard, in every place where the page may be open.

/** Without TLS a browser has no clipboard for pages of other machines (a server in the office); what is selected can be copied there, too. */
export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch (error) {
    if (!(error instanceof DOMException || error instanceof TypeError)) throw error;
    copySelected(text);
  }
}

function copySelected(text: string): void {
  const focused = document.activeElement;
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- No other way works without TLS.
  document.execCommand("copy");
  field.remove();
  if (focused instanceof HTMLElement) focused.focus();
}
