/** The api in front of Temporal: a workflow for each request, whose result is waited for. */
import { randomUUID } from 'node:crypto';
import fastify from 'fastify';
import { importInstalled, readPeerPlace } from '../peer-place.ts';

interface TemporalClient {
  default: {
    Connection: { connect: (options: { address: string }) => Promise<Connection> };
    Client: new (options: { connection: Connection }) => { workflow: WorkflowClient };
  };
}

interface Connection {
  workflowService: { registerNamespace: (request: object) => Promise<unknown> };
  close: () => Promise<void>;
}

interface WorkflowClient {
  execute: (workflow: string, options: object) => Promise<{ output_text: string }>;
  start: (workflow: string, options: object) => Promise<unknown>;
}

/** The code of gRPC for what is there already. */
const alreadyExists = 6;

const place = readPeerPlace(process.env);
const { default: sdk } = await importInstalled<TemporalClient>(place, '@temporalio/client/lib/index.js');
const connection = await sdk.Connection.connect({ address: place.storeUrl });
try {
  await connection.workflowService.registerNamespace({
    namespace: 'default',
    workflowExecutionRetentionPeriod: { seconds: 86_400 },
  });
} catch (error) {
  if (!(error instanceof Error && 'code' in error && error.code === alreadyExists)) throw error;
}
const { workflow } = new sdk.Client({ connection });

const optionsOf = (prompt: string) => ({ taskQueue: 'bench', workflowId: randomUUID(), args: [prompt] });
const app = fastify();
app.post<{ Body: { prompt: string } }>('/generate', ({ body }) =>
  workflow.execute('generate', optionsOf(body.prompt)),
);
app.post<{ Body: { prompt: string } }>('/accept', async ({ body }) => {
  await workflow.start('generate', optionsOf(body.prompt));
  return { status: 'queued' };
});
const url = await app.listen({ host: '127.0.0.1', port: 0 });
process.send?.({ url });

process.once('SIGTERM', () => {
  void (async () => {
    await app.close();
    await connection.close();
    process.disconnect();
  })();
});
