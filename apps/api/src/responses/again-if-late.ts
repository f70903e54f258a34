/**
 * Does an accept once more that came to the store too late, and so did nothing. The store answers: late was an outage that is
 * over, or this process, to which a burst or its neighbours left no processor for a second. Its caller still waits.
 */
export async function againIfLate<Result extends { kind: string }>(
  accept: () => Promise<Result>,
): Promise<Result> {
  const result = await accept();
  return result.kind === 'too_late' ? accept() : result;
}
