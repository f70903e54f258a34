import { FatalError } from '@sluice/runtime';
import { printable, printableJson, printableLine } from '../printable.ts';
import type { ShownResponse } from './shown-response.ts';
import type { FoundResponses } from './find-responses.ts';

export function printResponse(response: ShownResponse, json: boolean): void {
  if (json) {
    console.log(printableJson(JSON.stringify(response)));
    return;
  }
  const { id, status, model, created_at, usage, error, output_text } = response;
  const rows: [string, string][] = [
    ['id', id],
    ['status', status],
    ['model', model],
    ['created', timeOf(created_at)],
    ['tokens', usage ? String(usage.total_tokens) : '-'],
  ];
  if (error) rows.push(['error', `${error.code}: ${error.message}`]);
  for (const [name, value] of rows) console.log(`${name.padEnd(8)} ${printableLine(value)}`);
  if (output_text !== '') console.log(`\n${printable(output_text)}`);
}

export function printList({ responses, next }: FoundResponses, json: boolean): void {
  if (json) {
    for (const response of responses) console.log(printableJson(JSON.stringify(response)));
    return;
  }
  for (const { id, status, model, created_at } of responses) {
    console.log(`${timeOf(created_at)}  ${status.padEnd(11)}  ${id}  ${printableLine(model)}`);
  }
  if (next !== undefined) console.log(`\nMore: sluice responses list ${next}`);
  else if (responses.length === 0) console.log('No responses.');
}

/** Prints the text of a stream as it arrives, or each event as a line of JSON. */
export async function tail(events: AsyncIterable<string>, json: boolean): Promise<void> {
  let status: string | undefined;
  for await (const data of events) {
    if (json) {
      console.log(printableJson(data));
      continue;
    }
    const event = JSON.parse(data) as TailedEvent; // The service sends events of the contract.
    if (event.type === 'response.output_text.delta') process.stdout.write(printable(event.delta ?? ''));
    if (event.response) status = event.response.status;
  }
  if (json) return;
  process.stdout.write('\n');
  if (status === 'failed') throw new FatalError('The response failed; `sluice responses get` says why.');
  if (status === undefined) console.error('Nothing came after that event.');
  else if (status !== 'completed') console.error(`The response is ${status}.`);
}

interface TailedEvent {
  type: string;
  delta?: string;
  response?: { status: string };
}

function timeOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
}
