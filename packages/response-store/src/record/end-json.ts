import type { ResponseEnd } from '@sluice/contract';

/** The end of a response, as the record keeps it and as its watchers are told. */
export interface EndOfResponse {
  responseId: string;
  /** Number of the first event that the end brought. */
  sequenceNumber: number;
  end: ResponseEnd;
}

/**
 * Prints an end once, for the record and for the message to those who wait: the id comes first, so that a reader of
 * messages finds it without parsing.
 */
export function printEnd({ responseId, sequenceNumber, end }: EndOfResponse): string {
  return JSON.stringify({ id: responseId, sequence_number: sequenceNumber, ...end });
}

/** Our own serialisation, read back. */
export function parseEnd(json: string): EndOfResponse {
  // Written by `printEnd`.
  const { id, sequence_number, ...end } = JSON.parse(json) as ResponseEnd & {
    id: string;
    sequence_number: number;
  };
  return { responseId: id, sequenceNumber: sequence_number, end };
}

const beforeId = '{"id":"';

/** The id in a printed end; undefined for any other text. */
export function idInEnd(json: string): string | undefined {
  if (!json.startsWith(beforeId)) return undefined;
  return json.slice(beforeId.length, json.indexOf('"', beforeId.length));
}
