/**
 * A text that others wrote (a tenant, a model, a server) without the control characters that would move a terminal's cursor or change its colours.
 * Line breaks and tabs stay.
 */
export function printable(text: string): string {
  return text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '\ufffd');
}

/** The same, on one line. */
export function printableLine(text: string): string {
  return printable(text).replaceAll(/[\t\n]/g, '\ufffd');
}

/** JSON with all control characters escaped. `JSON.stringify` leaves some as they are that terminals obey. */
export function printableJson(json: string): string {
  return json.replaceAll(
    /[\u007f-\u009f]/g,
    (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
