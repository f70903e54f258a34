import type { ResponseEnd } from '@sluice/contract';
import { isLong, type Printed, printLong } from '@sluice/contract/print-long';

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
export function printEnd(end: EndOfResponse): string {
  return JSON.stringify(printedFormOf(end));
}

/** The same for an end of any length. A long one is printed beside other work; see `printLong`. */
export async function printAnyEnd(end: EndOfResponse): Promise<Printed> {
  const form = printedFormOf(end);
  return isLong(form) ? printLong(form) : JSON.stringify(form);
}

function printedFormOf({ responseId, sequenceNumber, end }: EndOfResponse): object {
  return { id: responseId, sequence_number: sequenceNumber, ...end };
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

/** An end without its output. */
export type EndFacts = Omit<ResponseEnd, 'output'>;

const beforeOutput = ',"output":';
const beforeUsage = ',"usage":';

/**
 * The same without the output, which is not parsed: it may have many megabytes, and stands between what is wanted. A quote
 * inside of a text is escaped, so neither mark is part of one; the members of an end are in the order of `Produced`.
 */
export function parseEndFacts(json: string): EndFacts {
  const output = json.indexOf(beforeOutput);
  const usage = json.lastIndexOf(beforeUsage);
  if (output < 0 || usage < output) {
    const { output: _output, ...facts } = parseEnd(json).end;
    return facts;
  }
  const {
    id: _id,
    sequence_number: _number,
    ...facts
  } = JSON.parse(
    // Written by `printEnd`.
    json.slice(0, output) + json.slice(usage),
  ) as EndFacts & { id: string; sequence_number: number };
  return facts;
}
