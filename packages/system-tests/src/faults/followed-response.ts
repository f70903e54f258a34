import { text as textOf } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { latch, type Latch, type SseFrame } from '@sluice/testing';
import { responseJsonIn } from '../running-response.ts';
import { numberOf, open, type OpenAnswer, readFrames, type WireAnswer } from '../wire.ts';
import { type FaultSite, testerKey } from './fault-site.ts';
import type { Mode } from './matrix.ts';
import type { StampedPrompt } from './stamped-upstream.ts';

/** How a request ended for its caller. */
export type Told =
  /** The whole response, or the last event of its stream. */
  | { kind: 'end'; json: string }
  /** The error of a failed response, as the caller of the whole response gets it. */
  | { kind: 'error'; status: number; text: string }
  /** Not accepted. */
  | { kind: 'refused'; status: number; text: string }
  /** The connection broke, and there was nothing to go on with. */
  | { kind: 'broken'; reason: string };

/** A response and everything that its caller has seen of it. */
export interface FollowedResponse {
  prompt: StampedPrompt;
  mode: Mode;
  model: string;
  /** Set once the caller knows it; a synchronous caller learns it at the end. */
  id: string | undefined;
  /** The union of all its connections. */
  frames: SseFrame[];
  /** Steps of the caller with their times, for the history of a failure. */
  steps: string[];
  /** Opens with the first token that the caller sees. */
  isVisible: Latch;
  sentAt: number;
  /** Settles when the caller has the end or cannot have it; never rejects. */
  told: Promise<{ told: Told; at: number }>;
  /** Cuts the caller's connection for good, as a client does that leaves. */
  leave: () => void;
}

export interface FollowOptions {
  mode: Mode;
  model?: 'stamped' | 'narrow';
  /** The address of the api that is asked. A caller whose connection breaks goes on at any other. */
  url: string;
  /** After this long the caller gives up, in milliseconds. */
  patienceMs?: number;
}

/** Between two tries of a caller whose connection broke, in milliseconds. */
const retryMs = 100;

/** Sends a request and follows it to its end, over as many connections as that takes. */
export function follow(site: FaultSite, prompt: StampedPrompt, options: FollowOptions): FollowedResponse {
  const { mode, model = 'stamped', url, patienceMs = 45_000 } = options;
  const caller: Caller = {
    site,
    deadline: performance.now() + patienceMs,
    response: {
      prompt,
      mode,
      model,
      id: undefined,
      frames: [],
      steps: [],
      isVisible: latch(),
      sentAt: performance.now(),
      // Replaced below, before anybody can read it.
      told: Promise.resolve({ told: { kind: 'broken', reason: 'not sent' }, at: 0 }),
      leave: () => {
        caller.hasLeft = true;
        caller.connection?.cut();
      },
    },
    hasLeft: false,
    connection: undefined,
  };
  const asked = mode === 'synchronous' ? askWhole(caller, url) : askAndFollow(caller, url);
  caller.response.told = asked
    .catch(
      (error: unknown): Told => ({ kind: 'broken', reason: isLate(caller) ? outOfPatience : String(error) }),
    )
    .then((told) => {
      say(caller, `told: ${told.kind}`);
      return { told, at: performance.now() };
    });
  return caller.response;
}

interface Caller {
  site: FaultSite;
  deadline: number;
  response: FollowedResponse;
  hasLeft: boolean;
  connection: OpenAnswer | undefined;
}

function say({ response }: Caller, what: string): void {
  response.steps.push(`${(performance.now() - response.sentAt).toFixed(0)} ms ${what}`);
}

/** How a caller is left that gives up. */
export const outOfPatience = 'out of patience';

function isLate({ deadline }: Caller): boolean {
  return performance.now() >= deadline;
}

/** What is said no more, or never, is cut when the caller gives up. A timer may be a millisecond early. */
function patienceOf({ deadline }: Caller): { withinMs: number } {
  return { withinMs: Math.max(0, deadline - performance.now()) + 1 };
}

function bodyOf({ response: { prompt, mode, model } }: Caller): object {
  return {
    model,
    input: prompt.id,
    metadata: { prompt: prompt.id },
    ...(mode.includes('stream') && { stream: true }),
    ...(mode.includes('background') && { background: true }),
  };
}

function create(caller: Caller, url: string): Promise<OpenAnswer> {
  const body = bodyOf(caller);
  return open(url, { method: 'POST', path: '/v1/responses', key: testerKey, body, ...patienceOf(caller) });
}

async function askWhole(caller: Caller, url: string): Promise<Told> {
  caller.connection = await create(caller, url);
  const { status, incoming } = caller.connection;
  const text = await textOf(incoming);
  if (status === 200) {
    caller.response.id = idOf(text);
    return { kind: 'end', json: text };
  }
  // Whether it was accepted and failed, or was refused, shows in the store: the checks look there.
  return { kind: 'error', status, text };
}

async function askAndFollow(caller: Caller, url: string): Promise<Told> {
  caller.connection = await create(caller, url);
  const { status, incoming } = caller.connection;
  if (status !== 200) return { kind: 'refused', status, text: await textOf(incoming) };
  if (caller.response.mode === 'background') {
    caller.response.id = idOf(await textOf(incoming));
    return poll(caller);
  }
  return readToTheEnd(caller);
}

/** Reads the stream, and resumes it at another api as often as it breaks. */
async function readToTheEnd(caller: Caller): Promise<Told> {
  const { response } = caller;
  for (let at = 0; ; at += 1) {
    if (caller.connection) {
      const isWhole = await readOn(caller, caller.connection);
      const last = response.frames.at(-1);
      if (isWhole && last) return { kind: 'end', json: responseJsonIn(last.data) };
    }
    if (caller.hasLeft) return { kind: 'broken', reason: 'the caller left' };
    if (response.id === undefined) return { kind: 'broken', reason: 'before the first event' };
    if (isLate(caller)) return { kind: 'broken', reason: outOfPatience };
    caller.connection = await resume(caller, at);
    if (!caller.connection) await pause(retryMs); // the pace of a client that tries again
  }
}

async function readOn(caller: Caller, connection: OpenAnswer): Promise<boolean> {
  const { response } = caller;
  try {
    const { isWhole } = await readFrames(connection, {
      onFrame(frame) {
        if (response.id === undefined) response.id = idInEvent(frame);
        response.frames.push(frame);
        if (frame.event === 'response.output_text.delta') response.isVisible.open();
      },
    });
    if (!isWhole) say(caller, `the stream ended behind event ${lastNumber(response)}`);
    return isWhole;
  } catch (error) {
    say(caller, `the stream broke behind event ${lastNumber(response)}: ${String(error)}`);
    return false;
  }
}

async function resume(caller: Caller, at: number): Promise<OpenAnswer | undefined> {
  const { site, response } = caller;
  const url = site.service.apiUrls[at % Math.max(site.service.apiUrls.length, 1)];
  if (url === undefined) return undefined;
  const path = `/v1/responses/${response.id}?stream=true&starting_after=${lastNumber(response)}`;
  try {
    const answer = await open(url, { path, key: testerKey, ...patienceOf(caller) });
    say(caller, `resumed behind event ${lastNumber(response)}: ${answer.status}`);
    if (answer.status === 200) return answer;
    answer.cut();
  } catch (error) {
    say(caller, `could not resume: ${String(error)}`);
  }
  return undefined;
}

/** Polls at one api after the other until the response has ended. */
async function poll(caller: Caller): Promise<Told> {
  const { site, response } = caller;
  for (let at = 0; !isLate(caller); at += 1) {
    if (caller.hasLeft) return { kind: 'broken', reason: 'the caller left' };
    const answer = await read(site, at, response.id ?? '').catch(() => undefined);
    if (answer?.status === 200 && isEnded(answer.text)) return { kind: 'end', json: answer.text };
    await pause(retryMs / 2); // the pace of a client that polls
  }
  return { kind: 'broken', reason: outOfPatience };
}

export function read(site: FaultSite, at: number, id: string): Promise<WireAnswer> {
  return site.ask(at, { path: `/v1/responses/${id}` });
}

/** Asks again while the answer is that the service cannot serve for now, for as long as the machine may keep it from that. */
export async function served<Answer extends { status: number }>(
  site: FaultSite,
  ask: () => Promise<Answer>,
): Promise<Answer> {
  const giveUpAt = performance.now() + site.machineMs;
  for (;;) {
    const answer = await ask();
    if (answer.status !== 503 || performance.now() > giveUpAt) return answer;
    await pause(retryMs); // the pace of a client that tries again
  }
}

/** Far longer than the replay of an ended response takes, in milliseconds. */
const replayedWithinMs = 20_000;

/** The whole stream of a response that has ended, from its first event. */
export async function replay(site: FaultSite, at: number, id: string): Promise<SseFrame[]> {
  const url = site.service.apiUrls[at % site.service.apiUrls.length] ?? '';
  const path = `/v1/responses/${id}?stream=true`;
  const answer = await served(site, async () => {
    const opened = await open(url, { path, key: testerKey, withinMs: replayedWithinMs });
    if (opened.status !== 200) opened.cut();
    return opened;
  });
  if (answer.status !== 200) throw new Error(`the replay is answered with ${answer.status}`);
  const { frames, isWhole } = await readFrames(answer);
  if (!isWhole) throw new Error('the replay breaks off');
  return frames;
}

/** The members of a response that the checks read. */
export interface ReadResponse {
  id: string;
  status: string;
  output_text: string;
  metadata: { prompt?: string };
  error: { code: string } | null;
}

/** A body that is known to be a response. */
export function parseResponse(text: string): ReadResponse {
  return JSON.parse(text) as ReadResponse; // the check of the replay holds it against the contract
}

export function isEnded(text: string): boolean {
  return !['queued', 'in_progress'].includes(parseResponse(text).status);
}

/** The tester's responses by their prompts, as far back as pages of the list have any of the wanted prompts. */
export async function listed(
  site: FaultSite,
  wanted: readonly FollowedResponse[],
): Promise<Map<string, ReadResponse>> {
  const prompts = new Set(wanted.map(({ prompt }) => prompt.id));
  const found = new Map<string, ReadResponse>();
  let after = '';
  for (;;) {
    const path = `/v1/responses?limit=100${after}`;
    const { status, text } = await served(site, () => site.ask(0, { path }));
    if (status !== 200) throw new Error(`the list is answered with ${status}: ${text}`);
    // The list route answers with this shape, and its items are responses.
    const page = JSON.parse(text) as { data: ReadResponse[]; has_more: boolean };
    for (const response of page.data) found.set(response.metadata.prompt ?? response.id, response);
    const last = page.data.at(-1);
    const isBehind = !page.data.some(({ metadata }) => prompts.has(metadata.prompt ?? ''));
    if (!page.has_more || last === undefined || isBehind) return found;
    after = `&after=${last.id}`;
  }
}

function idOf(json: string): string {
  return parseResponse(json).id;
}

export function idInEvent(frame: SseFrame): string | undefined {
  return (JSON.parse(frame.data) as { response?: ReadResponse }).response?.id; // the first event has it
}

export function lastNumber({ frames }: FollowedResponse): number {
  const last = frames.at(-1);
  return last === undefined ? -1 : numberOf(last);
}
