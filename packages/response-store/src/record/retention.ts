/** How long what is left of an ended response stays readable, in milliseconds. */
export interface Retention {
  recordMs: number;
  logMs: number;
}

/** The operator's settings for responses that are stored, in seconds. */
export interface RetentionSettings {
  responseSeconds: number;
  eventLogSeconds: number;
}

/** A response that is not stored goes soon after its end, when its own caller must have read it. */
const unstored: Retention = { recordMs: 60_000, logMs: 60_000 };

/** One that ran in the background stays until its caller has come back for it. */
const unstoredBackground: Retention = { recordMs: 600_000, logMs: 600_000 };

/** How long the response to a request stays after its end. All are stored but those with `store: false`. */
export function retentionOf(
  request: { store?: boolean | undefined; background?: boolean | undefined },
  { responseSeconds, eventLogSeconds }: RetentionSettings,
): Retention {
  if (request.store === false) return request.background === true ? unstoredBackground : unstored;
  return { recordMs: responseSeconds * 1000, logMs: eventLogSeconds * 1000 };
}
