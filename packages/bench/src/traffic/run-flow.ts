import { setTimeout as pause } from 'node:timers/promises';
import type { Pool } from 'undici';
import { now } from '../now.ts';
import { tagged } from '../upstream/paced-model.ts';
import type { Flow, Sent } from './flow.ts';
import { type Request, sendRequest } from './send-request.ts';

/** Sends the requests of a flow and resolves with what became of each, in the order of sending. */
export async function runFlow(poolOf: (origin: string) => Pool, flow: Flow): Promise<Sent[]> {
  const startedAt = now();
  const giveUpAt = startedAt + flow.lastsMs;
  const sent: Promise<Sent>[] = [];
  const sendNext = (): Promise<Sent> => {
    const tag = `${flow.name}-${sent.length}`;
    const origin = flow.origins[sent.length % flow.origins.length] ?? '';
    const body = JSON.stringify({ ...flow.request, input: tagged(flow.input, tag) });
    const answer = sendUntilHeard(poolOf(origin), { key: flow.key, body, tag, giveUpAt });
    sent.push(answer);
    return answer;
  };
  const hasMore = () => sent.length < flow.count && now() < giveUpAt;
  if (flow.everyMs > 0) {
    while (hasMore()) {
      void sendNext();
      const nextAt = startedAt + sent.length * flow.everyMs;
      if (nextAt > now()) await pause(nextAt - now());
    }
  } else {
    const runLane = async () => {
      while (hasMore()) await sendNext();
    };
    await Promise.all(Array.from({ length: flow.lanes }, runLane));
  }
  return Promise.all(sent);
}

const repeatAfterMs = 100;

/** Sends a request again while the service says that it is too busy, as a client does, and its time is not over. */
async function sendUntilHeard(pool: Pool, request: Request): Promise<Sent> {
  const first = await sendRequest(pool, request);
  let sent = first;
  let refusals = 0;
  while (sent.status === 503 && now() + repeatAfterMs < request.giveUpAt) {
    refusals += 1;
    await pause(repeatAfterMs);
    sent = await sendRequest(pool, request);
  }
  return { ...sent, at: first.at, refusals };
}
