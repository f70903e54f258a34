import { latch, type UpstreamRequest } from '@sluice/testing';
import { type DeliverySite, siteKeys } from './delivery-site.ts';
import { idIn, type OpenAnswer, readFrames, send } from './wire.ts';

/** How far a running response is when somebody ends it. */
export const windows = [
  'before the first token',
  'in mid-stream',
  'of a synchronous call',
  'in the middle of a synchronous call',
] as const;

export type Window = (typeof windows)[number];

/** A response whose upstream call is open, and its caller. */
export interface RunningResponse {
  id: string;
  upstreamCall: UpstreamRequest;
  /** Lets the upstream send the rest and finish. */
  finish: () => void;
  /** The final object that its own caller received, as JSON. Rejects if the caller left. */
  answered: Promise<string>;
  /** Cuts the caller's connection. */
  leave: () => void;
}

/** Lets a caller of one api create a response, and resolves when it is in that window. Not for two calls at a time. */
export async function startRunning(site: DeliverySite, window: Window, at: number): Promise<RunningResponse> {
  const call = site.upstream.expect(window.startsWith('in ') ? 'one word' : 'nothing');
  const body = { model: 'scripted', input: call.input };
  const caller = window.endsWith('synchronous call')
    ? waitFor(site, at, body)
    : await follow(site, at, body, window);
  // It may settle before anybody awaits it.
  caller.answered.catch(() => undefined);
  const upstreamCall = await call.arrived.wait();
  return {
    id: caller.id === undefined ? await newestId(site, at + 1) : await caller.id,
    upstreamCall,
    finish: call.finish,
    answered: caller.answered,
    leave: caller.leave,
  };
}

interface Caller {
  /** Undefined for a caller who learns the id only at the end. */
  id: Promise<string> | undefined;
  answered: Promise<string>;
  leave: () => void;
}

function waitFor(site: DeliverySite, at: number, body: object): Caller {
  const leaving = new AbortController();
  const asked = async () => {
    const answer = await fetch(`${site.api(at)}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${siteKeys.tester}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: leaving.signal,
    });
    return answer.text();
  };
  return { id: undefined, answered: asked(), leave: () => leaving.abort() };
}

async function follow(site: DeliverySite, at: number, body: object, window: Window): Promise<Caller> {
  const answer = await site.stream(at, body);
  const isThere = latch<string>();
  let id = '';
  const awaited = window === 'in mid-stream' ? 'response.output_text.delta' : 'response.in_progress';
  const read = readFrames(answer, {
    onFrame(frame) {
      if (id === '') id = idIn(frame);
      if (frame.event === awaited) isThere.open(id);
    },
  });
  return { id: isThere.wait(), answered: finalOf(read, answer), leave: answer.cut };
}

/** The response in the last event. */
async function finalOf(read: ReturnType<typeof readFrames>, { status }: OpenAnswer): Promise<string> {
  const { frames, isWhole } = await read;
  const last = frames.at(-1);
  if (last === undefined || !isWhole) throw new Error(`the stream broke off, status ${status}`);
  return responseJsonIn(last.data);
}

/** The JSON of the response in a life-cycle event, byte for byte. It is the last member of the event. */
export function responseJsonIn(data: string): string {
  return data.slice(data.indexOf('"response":') + '"response":'.length, -1);
}

/** A synchronous caller learns the id only at the end. The tenant's list has it earlier. */
async function newestId(site: DeliverySite, at: number): Promise<string> {
  const answer = await send(site.api(at), { path: '/v1/responses?limit=1', key: siteKeys.tester });
  // The list route answers with this shape, and its items are responses.
  const { data } = JSON.parse(answer.text) as { data: { id: string }[] };
  const [newest] = data;
  if (newest === undefined) throw new Error(`the list is empty: ${answer.text}`);
  return newest.id;
}
