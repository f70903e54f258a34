import { Batches, BatchRunner, BatchStore, type ParsedLine, type ReadLine } from '@sluice/batches';
import type { Settings } from '@sluice/config';
import { ServiceError } from '@sluice/contract';
import type { Files } from '@sluice/files';
import { queueName, type ResponseQueues } from '@sluice/queue';
import { type CallerStores, tellOfBatch } from '@sluice/response-store';
import { type ApiClients, outboxWriting, type Wired } from '@sluice/wiring';
import { MessageBatches } from './message-batches.ts';
import { ApiLineServer, type ApiLineServerOptions } from './api-line-server.ts';
import { queueCapacity } from './queue-capacity.ts';
import { Slack } from './slack.ts';

export interface ApiBatchesOptions extends Omit<ApiLineServerOptions, 'slack'> {
  settings: Pick<Settings, 'files' | 'recovery' | 'webhooks' | 'usage' | 'models' | 'workerConcurrency'>;
  queue: Pick<ResponseQueues, 'counts'>;
  wired: Wired<ApiClients, CallerStores>;
  files: Files;
}

/** The part of an api that has batches: what tenants ask of them, and their running, which one api does at a time. */
export class ApiBatches {
  readonly batches: Batches;
  readonly messageBatches: MessageBatches;
  readonly #runner: BatchRunner;
  readonly #slack: Slack;

  constructor({ settings, wired, files, queue, ...serving }: ApiBatchesOptions) {
    const { commands: connection } = wired.clients;
    const { keyPrefix } = wired;
    const store = new BatchStore({ connection, keyPrefix });
    const now = () => wired.clock.now();
    const outbox = outboxWriting(settings);
    this.batches = new Batches({ store, files, now });
    this.messageBatches = new MessageBatches({ store, files, now });
    this.#slack = new Slack({
      capacityOf: queueCapacity({ settings, connection, keyPrefix, now }),
      openIn: async (name) => {
        const { waiting, active } = await queue.counts(queueName(name));
        return waiting + active;
      },
      logger: serving.logger,
    });
    this.#runner = new BatchRunner({
      connection,
      keyPrefix,
      store,
      files,
      server: new ApiLineServer({ ...serving, slack: this.#slack }),
      readLine: (...line) => readLine(serving.json, ...line),
      logger: serving.logger,
      onEnd: async (name, { status, at }) => {
        const keys = wired.store.keys.inCell(wired.cells.first.name);
        if (outbox) await tellOfBatch(connection, keys, outbox, { ...name, type: `batch.${status}`, at });
      },
      linesAtOnce: settings.files.batchLines,
      resultBytes: settings.files.batchResultBytes,
      leaseMs: settings.recovery.lockMs,
      now,
    });
  }

  start(): void {
    this.#runner.start();
  }

  /** Leaves what runs to another api. */
  async stop(): Promise<void> {
    this.#slack.stop();
    await this.#runner.stop();
  }
}

/** A line that takes more memory than a thread has is a wrong one. */
async function readLine(
  json: ApiLineServerOptions['json'],
  ...[tenant, raw, endpoint]: Parameters<ReadLine>
): Promise<ParsedLine> {
  try {
    return await json.readLine(tenant, raw, endpoint);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'request_too_large') throw error;
    const { code, message } = error;
    return { problem: { code, message, line: raw.number, param: null } };
  }
}
