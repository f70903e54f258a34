/** A promise that the service is known to break, and how its violation reads. */
export interface KnownViolation {
  what: string;
  /** Matches the report of each violation of this kind, and of no other. */
  pattern: RegExp;
}

/**
 * What is known and not repaired yet. The page counts these like any other violation, and names them; only the short form
 * that runs with the tests lets them pass, because they come by chance. Whoever repairs one takes it off the list.
 */
export const knownViolations: readonly KnownViolation[] = [
  {
    what: 'When the reply to the adding of a job is lost, the request is refused at once although the job is there, and the response may run to its end. The reply should be asked for again, as that to the accept is.',
    pattern: /refused with 503, and it is (completed|failed|cancelled) after 1 calls/,
  },
];

/** Whether a report is of a kind that is known. */
export function isKnown(problem: string): boolean {
  return knownViolations.some(({ pattern }) => pattern.test(problem));
}
