import { closeRedis } from '@sluice/runtime';
import { Redis } from 'ioredis';
import type { SnapshotFile } from './snapshot-file.ts';

const SAVE_EVERY_MS = 2000;
/** Valkey answers nothing while it writes, so it may save for at most 5 % of the time: large snapshots are rarer. */
const PAUSE_PER_SAVE = 19;

/** Saves snapshots as a client. The WebAssembly build cannot fork, so its own rules for snapshots have no effect. */
export class Snapshots {
  readonly #client: Redis;
  readonly #file: Pick<SnapshotFile, 'placed'>;
  #timer: NodeJS.Timeout | undefined;
  #saving: Promise<void> = Promise.resolve();
  #isStopped = false;
  #hasFailed = false;

  constructor(port: number, file: Pick<SnapshotFile, 'placed'>) {
    this.#file = file;
    this.#client = new Redis({ host: '127.0.0.1', port, maxRetriesPerRequest: 0, protocol: 2 });
    // Commands report the same failure. Without a listener ioredis prints it as well.
    this.#client.on('error', () => undefined);
  }

  start(): void {
    this.#plan(SAVE_EVERY_MS);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#saving;
    await this.#saveAndTell();
    await closeRedis(this.#client);
  }

  #plan(inMs: number): void {
    this.#timer = setTimeout(() => {
      const startedAt = performance.now();
      this.#saving = this.#saveAndTell().then(() => {
        const tookMs = performance.now() - startedAt;
        if (!this.#isStopped) this.#plan(Math.max(SAVE_EVERY_MS, tookMs * PAUSE_PER_SAVE));
      });
    }, inMs);
  }

  async #saveAndTell(): Promise<void> {
    try {
      const info = await this.#client.info('persistence');
      const changes = Number(/rdb_changes_since_last_save:(\d+)/.exec(info)?.[1] ?? 1);
      if (changes > 0 || this.#hasFailed) await this.#client.call('SAVE');
      await this.#file.placed;
      this.#hasFailed = false;
    } catch (error) {
      // The next attempt may succeed, for example when the disk has room again.
      this.#hasFailed = true;
      const reason = error instanceof Error ? error.message : 'unknown reason';
      console.error(`sluice: the embedded store could not save its snapshot: ${reason}`);
    }
  }
}
