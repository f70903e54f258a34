import type { FinishedSpan } from './finished-span.ts';

export interface SpanBatchesOptions {
  /** Sends an export. Rejects when it was not taken. */
  send: (spans: readonly FinishedSpan[]) => Promise<void>;
  /** Most spans that wait, most spans of one export, and how long they are gathered, in milliseconds. */
  limits: { most: number; size: number; delayMs: number };
  /** Called with the reason why spans were dropped. */
  onDropped: (error: unknown, spans: number) => void;
}

/** Gathers spans and sends them, one export after the other. Spans beyond the limit of waiting ones are dropped. */
export class SpanBatches {
  readonly #options: SpanBatchesOptions;
  readonly #full: FinishedSpan[][] = [];
  #open: FinishedSpan[] = [];
  #timer: NodeJS.Timeout | undefined;
  #waiting = 0;
  #sending: Promise<void> | undefined;
  #isStopped = false;

  constructor(options: SpanBatchesOptions) {
    this.#options = options;
  }

  add(span: FinishedSpan): void {
    const { most, size, delayMs } = this.#options.limits;
    if (this.#isStopped) return;
    if (this.#waiting >= most) {
      this.#options.onDropped(new Error('Too many spans wait to be sent'), 1);
      return;
    }
    this.#waiting += 1;
    this.#open.push(span);
    if (this.#open.length >= size) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), delayMs).unref();
  }

  /** Sends the waiting spans, and resolves when they are taken or given up. Takes no more spans. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#flush();
    await this.#sending;
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#open.length > 0) {
      this.#full.push(this.#open);
      this.#open = [];
    }
    if (this.#full.length > 0) this.#sending ??= this.#sendAll();
  }

  async #sendAll(): Promise<void> {
    for (let batch = this.#full.shift(); batch; batch = this.#full.shift()) {
      this.#waiting -= batch.length;
      try {
        await this.#options.send(batch);
      } catch (error) {
        this.#options.onDropped(error, batch.length);
      }
    }
    this.#sending = undefined;
  }
}
