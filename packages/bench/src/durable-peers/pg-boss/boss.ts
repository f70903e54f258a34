import { importInstalled, type PeerPlace } from '../peer-place.ts';

export const queueName = 'generate';

/** The parts of pg-boss that are used here. */
export interface Boss {
  start(): Promise<unknown>;
  stop(): Promise<void>;
  on(event: 'error', listener: (error: Error) => void): void;
  createQueue(name: string, options: object): Promise<void>;
  send(name: string, data: object, options: { id: string }): Promise<string | null>;
  work(
    name: string,
    options: object,
    handler: (jobs: { id: string; data: { prompt: string } }[]) => Promise<object[]>,
  ): Promise<string>;
}

/** Connects. The first process to do so makes the tables. */
export async function startBoss(place: PeerPlace): Promise<Boss> {
  const { PgBoss } = await importInstalled<{ PgBoss: new (options: object) => Boss }>(
    place,
    'pg-boss/dist/index.js',
  );
  const boss = new PgBoss({ connectionString: place.storeUrl, useListenNotify: true });
  boss.on('error', (error) => {
    throw error;
  });
  await boss.start();
  return boss;
}
