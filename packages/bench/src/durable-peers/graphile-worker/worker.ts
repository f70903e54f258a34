/** The worker of graphile-worker. Its task keeps the answer and tells of it in one statement. */
import { Pool } from 'undici';
import { callUpstream } from '../../upstream/call-upstream.ts';
import { importInstalled, readPeerPlace } from '../peer-place.ts';
import { answered } from '../waiting-callers.ts';

interface Task {
  (
    payload: { id: string; prompt: string },
    helpers: { query: (text: string, values: string[]) => Promise<unknown> },
  ): Promise<void>;
}

interface GraphileWorker {
  run: (options: object) => Promise<{ stop: () => Promise<void> }>;
  Logger: new (factory: () => () => void) => object;
}

const place = readPeerPlace(process.env);
const upstream = new Pool(place.upstreamUrl, { connections: place.slots });

const generate: Task = async ({ id, prompt }, { query }) => {
  const text = await callUpstream(upstream, prompt);
  await query(
    `with kept as (insert into answers values ($1::uuid, $2) returning id, output_text)
     select pg_notify('${answered}', id || ' ' || output_text) from kept`,
    [id, text],
  );
};

const { run, Logger } = await importInstalled<GraphileWorker>(place, 'graphile-worker/dist/index.js');
const runner = await run({
  connectionString: place.storeUrl,
  concurrency: place.slots,
  maxPoolSize: place.slots + 2, // as its documentation advises
  noHandleSignals: true,
  logger: new Logger(() => () => undefined),
  taskList: { generate },
  preset: { worker: { localQueue: { size: place.slots + 1 }, completeJobBatchDelay: 0 } },
});
process.send?.({});

process.once('SIGTERM', () => {
  void (async () => {
    await runner.stop();
    await upstream.close();
    process.disconnect();
  })();
});
