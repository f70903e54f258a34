/** The worker of Temporal: the workflow, and the step that calls the upstream. */
import { join } from 'node:path';
import { Pool } from 'undici';
import { callUpstream } from '../../upstream/call-upstream.ts';
import { importInstalled, readPeerPlace } from '../peer-place.ts';

interface TemporalWorker {
  default: {
    NativeConnection: { connect: (options: { address: string }) => Promise<{ close: () => Promise<void> }> };
    Runtime: { install: (options: object) => unknown };
    Worker: { create: (options: object) => Promise<{ run: () => Promise<void>; shutdown: () => void }> };
  };
}

const place = readPeerPlace(process.env);
const { default: sdk } = await importInstalled<TemporalWorker>(place, '@temporalio/worker/lib/index.js');
sdk.Runtime.install({ shutdownSignals: [], logger: new Proxy({}, { get: () => () => undefined }) });
const upstream = new Pool(place.upstreamUrl, { connections: place.slots });
const connection = await sdk.NativeConnection.connect({ address: place.storeUrl });
const worker = await sdk.Worker.create({
  connection,
  taskQueue: 'bench',
  workflowBundle: { codePath: join(place.folder, 'workflow-bundle.js') },
  activities: { callModel: (prompt: string) => callUpstream(upstream, prompt) },
  maxConcurrentActivityTaskExecutions: place.slots,
});
const ended = worker.run();
process.send?.({});

process.once('SIGTERM', () => {
  void (async () => {
    worker.shutdown();
    await ended;
    await connection.close();
    await upstream.close();
    process.disconnect();
  })();
});
