import { numberOf } from '../wire.ts';
import type { FaultSite } from './fault-site.ts';
import type { FollowedResponse } from './followed-response.ts';
import { prefixOf } from '../service.ts';

/** Everything that is known of a response, for the report of a violation. Times are in milliseconds since `begun`. */
export async function historyOf(site: FaultSite, response: FollowedResponse, begun: number): Promise<string> {
  const { prompt, mode, id, frames, steps, sentAt } = response;
  const since = (at: number) => `${(at - begun).toFixed(0)} ms`;
  const calls = prompt.calls.map(
    ({ at, sent, ending }, number) =>
      `  call ${number + 1} at ${since(at)}: ${sent} tokens, ${ending ?? 'still open'}`,
  );
  const { told, at } = await response.told;
  return [
    `  ${mode}, prompt ${prompt.id}, ${id ?? 'id unknown'}, sent at ${since(sentAt)}`,
    ...calls,
    ...steps.map((step) => `  caller: ${step}`),
    `  caller saw: ${frames.map((frame) => `${numberOf(frame)} ${frame.event.replace('response.', '')}`).join(', ')}`,
    `  told at ${since(at)}: ${JSON.stringify(told).slice(0, 600)}`,
    ...(await recordOf(site, id)),
  ].join('\n');
}

/** The record and the log as the store has them. */
async function recordOf({ service }: FaultSite, id: string | undefined): Promise<string[]> {
  if (id === undefined) return [];
  const { redis } = service;
  const { client } = redis;
  const record = await client.hgetall(`${prefixOf(redis, id)}response:${id}`);
  const log = await client.xrange(`${prefixOf(redis, id)}log:${id}`, '-', '+');
  return [
    `  record: ${JSON.stringify(record).slice(0, 1_500)}`,
    `  log: ${log.map(([entry, fields]) => `${entry} ${String(fields[1]).slice(0, 60)}`).join('; ')}`,
  ];
}
