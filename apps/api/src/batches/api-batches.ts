import { Batches, BatchRunner, BatchStore } from '@sluice/batches';
import type { Settings } from '@sluice/config';
import type { Files } from '@sluice/files';
import type { CallerStore } from '@sluice/response-store';
import type { ApiClients, Wired } from '@sluice/wiring';
import { ApiLineServer, type ApiLineServerOptions } from './api-line-server.ts';

export interface ApiBatchesOptions extends ApiLineServerOptions {
  settings: Pick<Settings, 'files' | 'recovery'>;
  wired: Wired<ApiClients, CallerStore>;
  files: Files;
}

/** The part of an api that has batches: what tenants ask of them, and their running, which one api does at a time. */
export class ApiBatches {
  readonly batches: Batches;
  readonly #runner: BatchRunner;

  constructor({ settings, wired, files, ...serving }: ApiBatchesOptions) {
    const { commands: connection } = wired.clients;
    const { keyPrefix } = wired;
    const store = new BatchStore({ connection, keyPrefix });
    const now = () => wired.clock.now();
    this.batches = new Batches({ store, files, now });
    this.#runner = new BatchRunner({
      connection,
      keyPrefix,
      store,
      files,
      server: new ApiLineServer(serving),
      logger: serving.logger,
      linesAtOnce: settings.files.batchLines,
      leaseMs: settings.recovery.lockMs,
      now,
    });
  }

  start(): void {
    this.#runner.start();
  }

  /** Leaves what runs to another api. */
  stop(): Promise<void> {
    return this.#runner.stop();
  }
}
