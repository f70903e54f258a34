import type { QueueConsumer } from '@sluice/queue';
import type { Cells } from '@sluice/response-store';
import { queuesOf } from './queues-of-cell.ts';
import { type SharingCell, SlotShares } from './slot-shares.ts';
import { WorkerCell, type WorkerCellOptions } from './worker-cell.ts';

export interface WorkerCellsOptions extends Omit<WorkerCellOptions, 'cell' | 'cellCount'> {
  cells: Cells<WorkerCellOptions['cell']>;
}

/** The parts of a worker in all cells of the store, which share its slots. Cells may come and go. */
export class WorkerCells implements Pick<QueueConsumer, 'serve' | 'taken' | 'inHand' | 'isTaking' | 'hold'> {
  readonly #cells = new Map<string, WorkerCell>();
  readonly #shares: SlotShares;
  #sharing: readonly SharingCell[] = [];
  #names: readonly string[];
  #isRunning = false;

  constructor({ cells, ...options }: WorkerCellsOptions) {
    this.#names = cells.first.queue.names;
    this.#shares = new SlotShares({
      cells: () => this.#sharing,
      names: () => this.#names,
      slots: options.settings.workerConcurrency,
      onTooFew: (found) => options.logger.warn(found, 'the cells keep more slots than the worker has'),
    });
    const share = () => {
      this.#sharing = cells.all.flatMap((cell) => {
        const consumer = this.#cells.get(cell.name)?.consumer;
        return consumer ? [{ queues: queuesOf(cell), consumer }] : [];
      });
      this.#shares.cellsChanged();
    };
    cells.follow({
      join: (cell) => {
        const joined = new WorkerCell({ ...options, cell, cellCount: cells.all.length });
        joined.consumer.serve(this.#names);
        this.#cells.set(cell.name, joined);
        share();
        if (this.#isRunning) joined.start();
      },
      leave: async ({ name }) => {
        const leaving = this.#cells.get(name);
        this.#cells.delete(name);
        share();
        await Promise.all([leaving?.stopRescue(), leaving?.consumer.quiet()]);
        await leaving?.consumer.stop();
      },
    });
  }

  /** Takes jobs in each cell as soon as its Redis is there. */
  start(): void {
    this.#isRunning = true;
    this.#shares.start();
    for (const cell of this.#all) cell.start();
  }

  /** Looks after nothing any more. Resolves when no rescue is under way. */
  async stopRescue(): Promise<void> {
    this.#isRunning = false;
    await Promise.all([this.#shares.stop(), ...this.#all.map((cell) => cell.stopRescue())]);
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

  get #all(): WorkerCell[] {
    return [...this.#cells.values()];
  }

  get #consumers(): QueueConsumer[] {
    return this.#all.map(({ consumer }) => consumer);
  }
}
