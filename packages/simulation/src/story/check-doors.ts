import { checkEventGrammar } from '@sluice/testing';
import type { ReadyApi, SimulatedService } from '../service/simulated-service.ts';
import type { ReadResponse } from './check-response.ts';
import type { History } from './history.ts';
import { follow, type Request, retrieve, type Told } from './request.ts';
import type { CallerPlan } from './scenario.ts';
import type { SimulatedCaller } from './simulated-caller.ts';

/** Every door tells the same: reads by each api, and the events, which are whole. What a caller saw is their beginning. */
export async function checkDoors(
  { service }: History,
  apis: readonly ReadyApi[],
  {
    plan: { name, tenant },
    response,
    seen: eventsSeen,
    silentBehind,
  }: {
    plan: CallerPlan;
    response: ReadResponse;
    seen: SimulatedCaller['events'];
    silentBehind: number | undefined;
  },
): Promise<string[]> {
  const { world } = service;
  const problems: string[] = [];
  const json = JSON.stringify(response);
  for (const api of apis) {
    const asking = { world, api, plan: { name, tenant } };
    const told = await answered(service, () => retrieve(asking, response.id));
    if (told.kind !== 'response' || told.json !== json) {
      problems.push(`the list has ${json}, and ${api.process.name} tells ${JSON.stringify(told)}`);
    }
    let events: { sequenceNumber: number; json: string }[] = [];
    await answered(service, () => {
      events = [];
      const request = follow(asking, response.id, -1);
      request.onEvent = (event) => events.push(event);
      return request;
    });
    problems.push(...checkEventGrammar(events.map((event): unknown => JSON.parse(event.json))));
    const last = JSON.parse(events.at(-1)?.json ?? '{}') as { response?: object };
    if (withoutObject(last.response) !== json)
      problems.push(`the events end in ${withoutObject(last.response)}, and it is ${json}`);
    // A caller whose last number is that of the end has been told the end, as far as anybody can know.
    const lastNumber = events.at(-1)?.sequenceNumber;
    if (silentBehind !== undefined && silentBehind !== lastNumber)
      problems.push(
        `its stream had nothing behind event ${silentBehind}, and the end is event ${lastNumber}`,
      );
    const isLost = response.status === 'cancelled';
    for (const [at, seen] of eventsSeen.entries()) {
      if (isLost && isLostTouch(seen.json)) break;
      if (seen.sequenceNumber !== at)
        problems.push(`event ${at} of the caller has the number ${seen.sequenceNumber}`);
      else if (seen.json !== events[at]?.json) {
        problems.push(
          `event ${at} of the caller is ${seen.json}, and ${api.process.name} replays ${events[at]?.json}`,
        );
      }
    }
  }
  return problems;
}

/**
 * A caller who is there although the lease of its api has lapsed is told that it failed and may ask again, and not that it
 * was cancelled, which nobody has done.
 */
export function isLostTouch(json: string): boolean {
  return json.includes('The server lost touch with this response');
}

export function withoutObject(response: object | undefined): string {
  const { object: _, ...rest } = (response ?? {}) as { object?: string };
  return JSON.stringify(rest);
}

/** An api that has just lost its store refuses for a moment. */
const mostRefusals = 20;

/** Asks until there is an answer. */
export async function answered({ world }: SimulatedService, ask: () => Request): Promise<Told> {
  for (let refusals = 0; ; refusals += 1) {
    const told = await ask().told;
    const isRefused = told.kind === 'error' && told.status === 503;
    if (!isRefused || refusals >= mostRefusals) return told;
    await world.sleep(500);
  }
}
