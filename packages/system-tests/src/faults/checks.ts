import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { checkEventGrammar, eventually, type SseFrame } from '@sluice/testing';
import { responseJsonIn } from '../running-response.ts';
import { numberOf } from '../wire.ts';
import { type FaultSite, recovery } from './fault-site.ts';
import {
  type FollowedResponse,
  isEnded,
  parseResponse,
  read,
  type ReadResponse,
  replay,
  served,
  type Told,
} from './followed-response.ts';
import { textProblems } from './stamped-upstream.ts';

/** What the checks of one response came to. */
export interface Checked {
  /** Undefined for a request that left nothing behind. */
  final: ReadResponse | undefined;
  problems: string[];
}

/** How long a response may still be open when everything else is over, in milliseconds. */
const endedWithinMs = 20_000;

/**
 * Checks what must hold for every response, whatever happened to it: one end, told alike through every door, a stream
 * without a gap or a repeat, the text of one call, a bounded number of calls. A request that was refused has none.
 *
 * The caller must have been told. `id` is that of the list for a caller who never learned it.
 */
export async function checkResponse(
  site: FaultSite,
  response: FollowedResponse,
  listedId: string | undefined,
): Promise<Checked> {
  const { told } = await response.told;
  const id = response.id ?? listedId;
  if (id === undefined) return { final: undefined, problems: checkRefused(response, told) };
  const problems: string[] = [];
  let text: string;
  try {
    text = await untilEnded(site, id);
  } catch (error) {
    return { final: undefined, problems: [`accepted, and without an end: ${String(error)}`] };
  }
  const again = await served(site, () => read(site, 1, id));
  if (again.text !== text) problems.push(`two reads differ:\n${text}\n${again.text}`);
  const final = parseResponse(text);
  problems.push(...checkTold(told, text, final, response.prompt.calls.length));
  problems.push(...checkCalls(response));
  problems.push(...textProblems(final.output_text, response.prompt.id, final.status === 'completed'));
  const [here, there] = await Promise.all([replay(site, 0, id), replay(site, 1, id)]);
  problems.push(...checkReplays(here, there, text));
  problems.push(...checkUnion(response, here));
  return { final, problems };
}

async function untilEnded(site: FaultSite, id: string): Promise<string> {
  return eventually(
    async () => {
      const answer = await read(site, 0, id);
      return answer.status === 200 && isEnded(answer.text) && answer.text;
    },
    { timeoutMs: endedWithinMs },
  );
}

function checkRefused({ prompt }: FollowedResponse, told: Told): string[] {
  if (prompt.calls.length > 0)
    return [`not accepted (${told.kind}), and called ${prompt.calls.length} times`];
  if (told.kind === 'end') return ['the caller was told an end that nobody knows'];
  if (told.kind === 'broken') return []; // Nobody was promised anything.
  return checkHonest(told.status, told.text);
}

/** A refusal says that it is one: an error of the catalogue, and a status that a client knows what to do with. */
function checkHonest(status: number, text: string): string[] {
  const { error } = JSON.parse(text) as { error?: { code?: string } };
  const isHonest = (status === 503 || status === 429) && error?.code !== undefined;
  return isHonest ? [] : [`refused with ${status}: ${text}`];
}

function checkTold(told: Told, text: string, final: ReadResponse, calls: number): string[] {
  if (told.kind === 'end' && told.json !== text) {
    return [`the caller was told another end:\n${told.json}\n${text}`];
  }
  if (told.kind === 'refused') {
    // What was accepted although its caller is told that it was not is taken back.
    const isTakenBack = told.status === 503 && final.status === 'cancelled' && calls === 0;
    return isTakenBack ? [] : [`refused with ${told.status}, and it is ${final.status} after ${calls} calls`];
  }
  if (told.kind !== 'error') return [];
  // A caller of the whole response is told its failure, or, if it stopped waiting, that it may try again.
  const { error } = JSON.parse(told.text) as { error?: { code?: string } };
  const isItsFailure = final.status === 'failed' && error?.code === final.error?.code;
  const isGivenUp = final.status === 'cancelled' && told.status === 503;
  return isItsFailure || isGivenUp ? [] : [`the caller was told ${told.text}, and it is ${final.status}`];
}

function checkCalls({ prompt }: FollowedResponse): string[] {
  // A run that died with its process is not an attempt, and there is at most one.
  const most = recovery.maxAttempts + 1;
  return prompt.calls.length > most ? [`${prompt.calls.length} calls of the upstream, at most ${most}`] : [];
}

function checkReplays(here: SseFrame[], there: SseFrame[], text: string): string[] {
  const problems = checkEventGrammar(here.map(({ data }): unknown => JSON.parse(data)));
  if (JSON.stringify(here) !== JSON.stringify(there)) problems.push('the replays of two apis differ');
  const last = responseJsonIn(here.at(-1)?.data ?? '');
  if (last !== text) problems.push(`the stream ends in another object:\n${last}\n${text}`);
  return problems;
}

/** What a caller saw over all its connections is how the log begins, byte for byte and without a gap or a repeat. */
function checkUnion({ frames }: FollowedResponse, log: SseFrame[]): string[] {
  return frames.flatMap((frame, at) => {
    if (numberOf(frame) !== at) return [`event ${at} of the caller has the number ${numberOf(frame)}`];
    const logged = log[at];
    return logged?.data === frame.data && logged.event === frame.event
      ? []
      : [`event ${at} of the caller differs from the log:\n${frame.data}\n${logged?.data}`];
  });
}

/** Leaves nothing behind: waits until it is so, and returns what is still there. */
export async function leftovers(site: FaultSite, withinMs = 30_000): Promise<string[]> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const found = await lookForLeftovers(site);
    if (found.length === 0 || performance.now() > deadline) return found;
    await pause(100); // between two looks of a poll
  }
}

/** Keys without an expiry that a service has between two requests: what admission counts and what BullMQ keeps of its queues. */
const permanent = [
  /:load$/,
  // One for the whole life of the service: what it sealed is with clients.
  /:sealing-key$/,
  // One for each role, by which processes notice that the store was emptied.
  /:store-mark:(api|worker)$/,
  // What the console shows of the past, bounded in number, without content.
  /:(journal|audit)$/,
  // Empty once every end in the background was told; and the queue of webhooks, which has no job of a tenant without an endpoint.
  /:outbox(:webhooks:given)?$/,
  // The cells that there were, and how the limits of queues are divided over them.
  /:(cells|slots-epoch|slots-fence|slots:[a-z]+)$/,
  /:webhooks%:(meta|id|events|marker|stalled)$/,
  /:(stamped|narrow):(meta|id|events|completed|failed|marker|stalled|pc|delay)$/,
  // Finished jobs, bounded in number by the settings of the dashboard. They carry ids only.
  /:(stamped|narrow):create-response_[A-Za-z0-9]+$/,
];

async function lookForLeftovers(site: FaultSite): Promise<string[]> {
  const { prefix } = site.service.redis;
  const found = await Promise.all(
    site.stores().map(async ({ url }) => {
      const client = new Redis(url, { protocol: 2 });
      try {
        return await leftoversIn(client, prefix);
      } finally {
        client.disconnect();
      }
    }),
  );
  return found.flat();
}

async function leftoversIn(client: Redis, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  // Each element of the stream is one reply of SCAN, an array.
  for await (const page of client.scanStream({ match: `${prefix}*`, count: 1_000 }))
    keys.push(...(page as string[]));
  const found = await Promise.all(keys.map((key) => leftoverAt(client, key)));
  return found.flat();
}

async function leftoverAt(client: Redis, key: string): Promise<string[]> {
  if (key.endsWith('}:load')) {
    const counters = Object.entries(await client.hgetall(key)).filter(([, value]) => value !== '0');
    return counters.map(([counter, value]) => `the counter ${counter} of what waits is ${value}`);
  }
  if (key.endsWith('}:outbox')) {
    const untold = await client.xlen(key);
    return untold > 0 ? [`${untold} ends wait to be told`] : [];
  }
  const found: string[] = [];
  if (key.endsWith('}:open')) {
    const open = await client.zrange(key, '0', '-1');
    if (open.length > 0) found.push(`open responses: ${open.join(', ')}`);
  }
  if (!permanent.some((pattern) => pattern.test(key)) && (await client.pttl(key)) === -1)
    found.push(`a key that never expires: ${key}`);
  return found;
}
