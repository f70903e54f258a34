import { ServiceError } from '@sluice/contract';
import type { ReadyApi, SimulatedService } from '../service/simulated-service.ts';

/** The answer of an api that dies before it gives one, or refuses for now. */
export const notDone = Symbol('not done');

/** How long somebody waits before he asks again, in milliseconds. */
export const againAfterMs = 300;

/** Tries after which he gives up. Long enough for every fault to be over. */
export const mostTries = 400;

/** Asks one api or the other until it is done. */
export async function askUntilDone<Result>(
  service: Pick<SimulatedService, 'world' | 'apis'>,
  ask: (api: ReadyApi) => Promise<Result>,
): Promise<Result> {
  for (let tries = 0; tries < mostTries; tries += 1) {
    const api = service.apis[tries % Math.max(service.apis.length, 1)];
    const answer = api ? await askOnce(service, api, ask) : notDone;
    if (answer !== notDone) return answer;
    await service.world.sleep(againAfterMs);
  }
  throw new Error(`Nothing is answered: ${ask.toString()}`);
}

/** Asks in a step of the api, whose chance is that of the seed. */
export async function askOnce<Result>(
  { world }: Pick<SimulatedService, 'world'>,
  api: ReadyApi,
  ask: (api: ReadyApi) => Promise<Result>,
): Promise<Result | typeof notDone> {
  const { process, asServiceError } = api;
  const { promise, resolve, reject } = Promise.withResolvers<Result | typeof notDone>();
  process.onDeath(() => resolve(notDone));
  process.after(0, () => {
    ask(api).then(resolve, (error: unknown) => {
      const known = error instanceof ServiceError ? error : asServiceError(error);
      if (known) resolve(notDone);
      else reject(error);
    });
  });
  const answer = await promise;
  await world.sleep(0);
  return answer;
}

/** A store that was emptied knows of nothing. */
export function isForgotten(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'not_found';
}
