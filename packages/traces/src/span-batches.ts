import type { FinishedSpan } from './finished-span.ts';
import type { SpanBatch } from './span-batch.ts';

export interface SpanBatchesOptions {
  newBatch: () => SpanBatch;
  /** Sends an export. Rejects when it was not taken. */
  send: (body: Uint8Array) => Promise<void>;
  /** Spans that wait at most, spans of one export, and how long they are gathered, in milliseconds. */
  limits: { most: number; size: number; delayMs: number };
  /** Told why spans were dropped. */
  onDropped: (error: unknown, spans: number) => void;
}

/** Gathers spans and sends them, one export after the other. Those that are more than may wait are dropped. */
export class SpanBatches {
  readonly #options: SpanBatchesOptions;
  readonly #full: SpanBatch[] = [];
  #open: SpanBatch;
  #timer: NodeJS.Timeout | undefined;
  #waiting = 0;
  #sending: Promise<void> | undefined;
  #isStopped = false;

  constructor(options: SpanBatchesOptions) {
    this.#options = options;
    this.#open = options.newBatch();
  }

  add(span: FinishedSpan): void {
    const { most, size, delayMs } = this.#options.limits;
    if (this.#isStopped) return;
    if (this.#waiting >= most) {
      this.#options.onDropped(new Error('Too many spans wait to be sent'), 1);
      return;
    }
    this.#waiting += 1;
    this.#open.add(span);
    if (this.#open.count >= size) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), delayMs).unref();
  }

  /** Sends what waits, and resolves when that is taken or given up. Nothing is added any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#flush();
    await this.#sending;
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#open.count > 0) {
      this.#full.push(this.#open);
      this.#open = this.#options.newBatch();
    }
    if (this.#full.length > 0) this.#sending ??= this.#sendAll();
  }

  async #sendAll(): Promise<void> {
    for (let batch = this.#full.shift(); batch; batch = this.#full.shift()) {
      this.#waiting -= batch.count;
      try {
        await this.#options.send(batch.finish());
      } catch (error) {
        this.#options.onDropped(error, batch.count);
      }
    }
    this.#sending = undefined;
  }
}
