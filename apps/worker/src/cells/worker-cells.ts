import type { QueueConsumer } from '@sluice/queue';
import { queuesOf } from './queues-of-cell.ts';
import { SlotShares } from './slot-shares.ts';
import { WorkerCell, type WorkerCellOptions } from './worker-cell.ts';

export interface WorkerCellsOptions extends Omit<WorkerCellOptions, 'cell' | 'cellCount'> {
  cells: readonly WorkerCellOptions['cell'][];
}

/** The parts of a worker in all cells of the store, which share its slots. */
export class WorkerCells implements Pick<QueueConsumer, 'serve' | 'taken' | 'inHand' | 'isTaking' | 'hold'> {
  readonly #cells: readonly WorkerCell[];
  readonly #shares: SlotShares;
  #names: readonly string[];

  constructor({ cells, ...options }: WorkerCellsOptions) {
    this.#cells = cells.map((cell) => new WorkerCell({ ...options, cell, cellCount: cells.length }));
    this.#names = cells[0]?.queue.names ?? [];
    this.#shares = new SlotShares({
      cells: cells.map((cell, at) => ({ queues: queuesOf(cell), consumer: this.#consumerAt(at) })),
      names: () => this.#names,
      slots: options.settings.workerConcurrency,
    });
  }

  /** Takes jobs in each cell as soon as its Redis is there. */
  start(): void {
    this.#shares.start();
    for (const cell of this.#cells) cell.start();
  }

  /** Looks after nothing any more. Resolves when no rescue is under way. */
  async stopRescue(): Promise<void> {
    await Promise.all([this.#shares.stop(), ...this.#cells.map((cell) => cell.stopRescue())]);
  }

  /** Takes no new jobs. Running jobs go on. */
  async quiet(): Promise<void> {
    await Promise.all(this.#consumers.map((consumer) => consumer.quiet()));
  }

  /** Resolves when no job runs any more; see `QueueConsumer`. */
  async stop(): Promise<void> {
    await Promise.all(this.#consumers.map((consumer) => consumer.stop()));
  }

  serve(names: readonly string[]): void {
    this.#names = names;
    this.#shares.begin(names);
    for (const consumer of this.#consumers) consumer.serve(names);
  }

  /** Whether jobs are taken in some cell: one that is away keeps nobody from those of the others. */
  get isRunning(): boolean {
    return this.#consumers.some(({ isRunning }) => isRunning);
  }

  taken(name: string): number {
    return this.#consumers.reduce((sum, consumer) => sum + consumer.taken(name), 0);
  }

  inHand(name: string): number {
    return this.#consumers.reduce((sum, consumer) => sum + consumer.inHand(name), 0);
  }

  isTaking(name: string): boolean {
    return this.#consumers.some((consumer) => consumer.isTaking(name));
  }

  hold(name: string, forMs: number): void {
    for (const consumer of this.#consumers) consumer.hold(name, forMs);
  }

  get #consumers(): QueueConsumer[] {
    return this.#cells.map(({ consumer }) => consumer);
  }

  #consumerAt(at: number): QueueConsumer {
    const cell = this.#cells[at];
    if (!cell) throw new RangeError('There is no such cell');
    return cell.consumer;
  }
}
