/** The worker of pg-boss. It fetches jobs in batches, and each job is completed with an answer of its own. */
import { Pool } from 'undici';
import { callUpstream } from '../../upstream/call-upstream.ts';
import { readPeerPlace } from '../peer-place.ts';
import { queueName, startBoss } from './boss.ts';

const batchSize = 8;

const place = readPeerPlace(process.env);
const upstream = new Pool(place.upstreamUrl, { connections: place.slots });
const boss = await startBoss(place);
await boss.work(
  queueName,
  {
    batchSize,
    localConcurrency: place.slots / batchSize,
    burstWhenBatchFull: true,
    perJobResults: true,
    pollingIntervalSeconds: 0.5,
    notifyPollingIntervalSeconds: 0.5,
  },
  (jobs) =>
    Promise.all(
      jobs.map(async ({ id, data: { prompt } }) => ({
        id,
        status: 'completed',
        output: { output_text: await callUpstream(upstream, prompt) },
      })),
    ),
);
process.send?.({});

process.once('SIGTERM', () => {
  void (async () => {
    await boss.stop();
    await upstream.close();
    process.disconnect();
  })();
});
