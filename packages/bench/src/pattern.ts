import { randomBytes } from 'node:crypto';
import { type Child, ownProcess, startChild } from './child-process.ts';
import { placeVariables } from './place.ts';
import type { ScenarioContext } from './scenario.ts';

/** An api and a worker that Sluice is compared with. */
export interface Pattern {
  prefix: string;
  api: Child;
  worker: Child;
  stop(): Promise<void>;
}

/** Starts one with so many slots in its worker. */
export async function startPattern(
  folder: 'usual-pattern' | 'bare-job',
  slots: number,
  context: ScenarioContext,
): Promise<Pattern> {
  const prefix = `bench-${folder}-${randomBytes(8).toString('hex')}`;
  const env = placeVariables({
    redisUrl: context.redis.url,
    prefix,
    upstreamUrl: context.upstreamUrl,
    concurrency: slots,
  });
  const start = (role: 'api' | 'worker') =>
    startChild({ name: `${folder} ${role}`, ...ownProcess(`./${folder}/${role}`), env });
  const api = await start('api');
  try {
    const worker = await start('worker');
    return {
      prefix,
      api,
      worker,
      async stop() {
        await Promise.all([api.stop(), worker.stop()]);
      },
    };
  } catch (error) {
    await api.stop();
    throw error;
  }
}
