/** The api in front of graphile-worker: a job for each request, and a table of the answers. */
import { importInstalled, readPeerPlace } from '../peer-place.ts';
import { connectPostgres, serveCallers } from '../waiting-callers.ts';

interface WorkerUtils {
  migrate(): Promise<void>;
  addJob(task: string, payload: object): Promise<unknown>;
  release(): Promise<void>;
}

const place = readPeerPlace(process.env);
const { makeWorkerUtils } = await importInstalled<{
  makeWorkerUtils: (options: object) => Promise<WorkerUtils>;
}>(place, 'graphile-worker/dist/index.js');
const utils = await makeWorkerUtils({ connectionString: place.storeUrl });
await utils.migrate();

const client = await connectPostgres(place);
await client.query('create table answers (id uuid primary key, output_text text not null)');
await client.end();

await serveCallers(
  place,
  (id, prompt) => utils.addJob('generate', { id, prompt }),
  () => utils.release(),
);
