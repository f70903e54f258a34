/** The api in front of Temporal: a workflow for each request. */
import { setTimeout as pause } from 'node:timers/promises';
import { importInstalled, readPeerPlace } from '../peer-place.ts';
import { servePrompts } from '../serve-prompts.ts';
import { namespace, taskQueue, workflowType } from './names.ts';

interface Connection {
  workflowService: { registerNamespace: (request: object) => Promise<unknown> };
  close: () => Promise<void>;
}

interface WorkflowHandle {
  result: () => Promise<string>;
}

interface TemporalClient {
  Connection: { connect: (options: { address: string }) => Promise<Connection> };
  Client: new (options: {
    connection: Connection;
    namespace: string;
  }) => { workflow: { start: (type: string, options: object) => Promise<WorkflowHandle> } };
}

/** How long the server may take until it answers, in milliseconds: less than this process is waited for, so that it can say why. */
const startMs = 15_000;

const place = readPeerPlace(process.env);
const { Client, Connection } = await importInstalled<TemporalClient>(
  place,
  '@temporalio/client/lib/index.js',
);
const connection = await untilDone(() => Connection.connect({ address: place.storeUrl }));
await untilDone(() =>
  connection.workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: { seconds: 86_400 },
  }),
);
const client = new Client({ connection, namespace });
const begin = (id: string, prompt: string) =>
  client.workflow.start(workflowType, { taskQueue, workflowId: id, args: [prompt] });

await servePrompts({
  answer: async (id, prompt) => (await begin(id, prompt)).result(),
  accept: begin,
  close: () => connection.close(),
});

/** Does a step of the start until the server takes it. */
async function untilDone<Result>(step: () => Promise<Result>): Promise<Result> {
  const deadline = performance.now() + startMs;
  for (;;) {
    try {
      return await step();
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await pause(250);
    }
  }
}
