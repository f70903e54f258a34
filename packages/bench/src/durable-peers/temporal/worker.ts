/** The worker of Temporal: runs workflows, and their activity, the call of the upstream. */
import { join } from 'node:path';
import { Pool } from 'undici';
import { callUpstream } from '../../upstream/call-upstream.ts';
import { importInstalled, readPeerPlace } from '../peer-place.ts';
import { namespace, taskQueue } from './names.ts';

interface TemporalWorker {
  NativeConnection: { connect: (options: { address: string }) => Promise<{ close: () => Promise<void> }> };
  Worker: {
    create: (options: object) => Promise<{ run: () => Promise<void>; shutdown: () => void }>;
  };
  Runtime: { install: (options: object) => unknown };
  DefaultLogger: new (level: string) => object;
}

const place = readPeerPlace(process.env);
const upstream = new Pool(place.upstreamUrl, { connections: place.slots });
const { DefaultLogger, NativeConnection, Runtime, Worker } = await importInstalled<TemporalWorker>(
  place,
  '@temporalio/worker/lib/index.js',
);
// Its own handling of signals would race with ours.
Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] });
const connection = await NativeConnection.connect({ address: place.storeUrl });
const worker = await Worker.create({
  connection,
  namespace,
  taskQueue,
  workflowsPath: join(place.folder, 'workflow.cjs'),
  activities: { generate: (prompt: string) => callUpstream(upstream, prompt) },
  maxConcurrentActivityTaskExecutions: place.slots,
});
const running = worker.run();
process.send?.({});

process.once('SIGTERM', () => {
  void (async () => {
    worker.shutdown();
    await running;
    await connection.close();
    await upstream.close();
    process.disconnect();
  })();
});
