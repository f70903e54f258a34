import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { RegularLook } from '../regular-look.ts';
import { divide, divideInTurn } from './divide.ts';
import { readFairShares } from './fair-shares.ts';
import { type CellOfQueues, keysOfQueue, type QueueDemand, readDemand } from './queue-demand.ts';
import { QueuesInTurn } from './queues-in-turn.ts';
import { type Limits, ToldLimits } from './told-limits.ts';

/** How often the limits follow what waits, in milliseconds. */
const divideEveryMs = 1_000;

/** How long the right to divide stands without a renewal, in milliseconds. */
const leaseMs = 5_000;

/** A look at many queues may take longer than that, and renews the right so often, in milliseconds. */
const renewEveryMs = 1_000;

/** After so many looks, limits are lifted once more where there is none. */
const liftAgainAfter = 10;

/** The weight of the last look in what is smoothed. */
const smoothing = 0.5;

const script = (name: string) =>
  readFileSync(new URL(`../../src/slots/${name}.lua`, import.meta.url), 'utf8');
const scripts = {
  limit: script('limit-slots'),
  lead: script('lead-slots'),
  grant: script('grant-slots'),
};

/** A cell in which jobs of the queues run. */
export interface LimitedCell extends CellOfQueues {
  connection: Pick<Redis, 'eval' | 'hsetnx'>;
}

export interface DividedLimitsOptions {
  /** The first one has what the others are granted. Cells may come and go. */
  cells: () => readonly [
    LimitedCell & { connection: Pick<Redis, 'hgetall' | 'hdel' | 'del'> },
    ...LimitedCell[],
  ];
  /** How many jobs run at once over all cells, of each queue that this process serves. Read at each look. */
  limits: () => Limits;
  /** The process that divides, by a name of its own. */
  process: string;
  /** Told of whatever failed in a look; the next one makes up for it. */
  onError: (error: unknown) => void;
}

/** A queue in a cell that answers. */
interface Place {
  cell: LimitedCell;
  demand: QueueDemand;
  /** How many it has of the limit of the queue, and how many of that are noted. */
  granted: number;
  noted: number | undefined;
  /** How many it should have. */
  share: number;
}

/**
 * Divides the limit of a queue over the cells of the store every second, as fairly between its tenants as if there were one cell; see `fairShares`.
 * One process at a time does it, whichever is alive, also for queues that only others serve.
 *
 * The cells together never run more than the limit: a grant is noted in the first cell before the cell gets it, and taken back after the cell runs
 * less. What a cell that does not answer was granted stays granted. A divider that was frozen and goes on changes nothing any more, neither the
 * grants, for which it must have the right, nor a limit, for which a later one has an epoch that is higher.
 */
export class DividedLimits {
  readonly #options: DividedLimitsOptions;
  /** How much each place needs, and how much of a limit that is too small is its fair share, smoothed. */
  readonly #needs = new Map<string, number>();
  readonly #fair = new Map<string, number>();
  /** How much more of a limit that is too small a cell should have had. */
  readonly #owed = new Map<string, number>();
  readonly #lifted = new Set<string>();
  readonly #told = new ToldLimits();
  #epoch = 0;
  #lookCount = 0;
  #isStopping = false;
  /** All have their turn, also where the right is lost again and again. */
  readonly #queues = new QueuesInTurn();
  /** The highest epoch that was met in a cell. */
  #met = 0;
  readonly #looks = new RegularLook(
    () => this.#look().catch((error: unknown) => this.#options.onError(error)),
    divideEveryMs,
  );

  constructor(options: DividedLimitsOptions) {
    this.#options = options;
  }

  /** Sees to it that no queue with a limit runs without one in a cell. Call it before jobs of the cell are taken. */
  async prepare({ connection, keyPrefix }: LimitedCell): Promise<void> {
    for (const [queue, limit] of this.#options.limits())
      if (limit !== undefined) await connection.hsetnx(keysOfQueue(keyPrefix, queue).meta, 'concurrency', 0);
  }

  start(): void {
    this.#looks.start();
  }

  /** Resolves when nothing is divided. A look under way begins with no further queue. Safe to call twice, or before `start`. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#looks.stop();
    this.#isStopping = false;
  }

  /** Divides now if this process has the right to, or joins the look under way. Never rejects. */
  look(): Promise<void> {
    return this.#looks.look();
  }

  async #look(): Promise<void> {
    const [{ connection, keyPrefix }] = this.#options.cells();
    const told = { connection, key: `${keyPrefix}slots-limits` };
    const own = this.#options.limits();
    await this.#told.tell(told, own);
    if (!(await this.#leads())) return;
    const limits = new Map([...(await this.#told.read(told)), ...own]);
    // A worker of other settings may have limited what has no limit any more.
    if ((this.#lookCount += 1) % liftAgainAfter === 0) this.#lifted.clear();
    let ledAt = performance.now();
    const faults = await this.#queues.round({
      queues: limits,
      act: (queue, limit) => (limit === undefined ? this.#lift(queue) : this.#divide(queue, limit)),
      mayGoOn: async () => {
        if (this.#isStopping) return false;
        if (performance.now() - ledAt < renewEveryMs) return true;
        const leads = await this.#leads();
        ledAt = performance.now();
        return leads;
      },
    });
    for (const fault of faults) this.#options.onError(fault);
  }

  /** Takes or renews the right to divide. What is under way goes on under the epoch that it has begun with. */
  async #leads(): Promise<boolean> {
    const { process } = this.#options;
    const [{ connection, keyPrefix }] = this.#options.cells();
    const keys = [leaderKey(keyPrefix), `${keyPrefix}slots-epoch`];
    this.#epoch = Number(
      await connection.eval(scripts.lead, keys.length, ...keys, process, leaseMs, this.#met),
    );
    return this.#epoch > 0;
  }

  async #divide(queue: string, limit: number): Promise<void> {
    this.#lifted.delete(queue);
    const epoch = this.#epoch;
    const { places, away } = await this.#read(queue, limit);
    await this.#setShares(queue, places, Math.max(0, limit - away));
    // A cell runs less before another one is granted more. What runs beyond its share goes on, and stays granted until it ends.
    for (const place of places) {
      const { share, granted } = place;
      if (share > granted || (share === granted && place.demand.limit === granted)) continue;
      const active = await this.#limit(queue, place.cell, share, epoch);
      if (active === undefined) return;
      place.granted = Math.max(share, active);
    }
    if (!(await this.#grant(queue, limit, places))) return;
    let left = limit - away - places.reduce((sum, { granted }) => sum + granted, 0);
    const rising = places.filter(({ share, granted }) => share > granted);
    for (const place of rising) {
      const more = Math.max(0, Math.min(left, place.share - place.granted));
      place.granted += more;
      left -= more;
    }
    if (!(await this.#grant(queue, limit, places))) return;
    for (const { cell, granted, demand } of rising)
      if (granted !== demand.limit) await this.#limit(queue, cell, granted, epoch);
  }

  /** Reads what each cell has and needs. `away`: what the cells have that do not answer. */
  async #read(queue: string, limit: number): Promise<{ places: Place[]; away: number }> {
    const cells = this.#options.cells();
    const [{ connection, keyPrefix }] = cells;
    const noted = await connection.hgetall(grantsKey(keyPrefix, queue));
    const gone = Object.keys(noted).filter((name) => !cells.some((cell) => cell.name === name));
    if (gone.length > 0) await connection.hdel(grantsKey(keyPrefix, queue), ...gone);
    const read = await Promise.allSettled(
      cells.map(async (cell) => placeOf(cell, await readDemand(cell, queue, limit), noted[cell.name])),
    );
    const places = read.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
    // A silent cell without a note was granted nothing.
    const away = cells
      .filter((_cell, at) => read[at]?.status === 'rejected')
      .reduce((sum, { name }) => sum + Number(noted[name] ?? 0), 0);
    return { places, away };
  }

  /**
   * Each cell has what it needs, and a part of what nobody needs. When there is too little, each has its fair share of that, and where its share is
   * less than one it has one in its turn.
   */
  async #setShares(queue: string, places: readonly Place[], available: number): Promise<void> {
    const names = places.map(({ cell }) => `${cell.name} ${queue}`);
    const needs = places.map(({ demand }, at) =>
      Math.ceil(smoothed(this.#needs, names[at] ?? '', demand.running + demand.waiting)),
    );
    const needed = needs.reduce((sum, need) => sum + need, 0);
    if (needed <= available) {
      const spare = divide(
        available - needed,
        places.map(() => 1),
      );
      for (const [at, place] of places.entries()) place.share = (needs[at] ?? 0) + (spare[at] ?? 0);
      for (const name of names) {
        this.#owed.delete(name);
        this.#fair.delete(name);
      }
      return;
    }
    const exact = await readFairShares(queue, places, available);
    const fair = exact.map((share, at) => smoothed(this.#fair, names[at] ?? '', share));
    const owedBefore = names.map((name) => this.#owed.get(name) ?? 0);
    const { parts, owed } = divideInTurn(available, fair, owedBefore);
    for (const [at, place] of places.entries()) {
      place.share = parts[at] ?? 0;
      this.#owed.set(names[at] ?? '', owed[at] ?? 0);
    }
  }

  /** Limits a cell; returns how many jobs it runs, or undefined when a later divider has limited it. */
  async #limit(
    queue: string,
    { connection, keyPrefix }: LimitedCell,
    limit: number | '',
    epoch: number,
  ): Promise<number | undefined> {
    const { meta, active } = keysOfQueue(keyPrefix, queue);
    const keys = [meta, active, `${keyPrefix}slots-fence`];
    const reply = await connection.eval(scripts.limit, keys.length, ...keys, epoch, limit);
    const [later, running] = reply as [number, number]; // by the script
    this.#met = Math.max(this.#met, later);
    return later > 0 ? undefined : running;
  }

  /** Notes the grants that have changed. False when this process has lost the right to. */
  async #grant(queue: string, limit: number, places: readonly Place[]): Promise<boolean> {
    const { process } = this.#options;
    const [{ connection, keyPrefix }] = this.#options.cells();
    const changed = places.filter(({ granted, noted }) => granted !== noted);
    if (changed.length === 0) return true;
    const keys = [leaderKey(keyPrefix), grantsKey(keyPrefix, queue)];
    const args = changed.flatMap(({ cell, granted }) => [cell.name, granted]);
    const isNoted = await connection.eval(scripts.grant, keys.length, ...keys, process, limit, ...args);
    if (isNoted !== 1) return false;
    for (const place of changed) place.noted = place.granted;
    return true;
  }

  /** Takes the limit of a queue away that has none any more, once. */
  async #lift(queue: string): Promise<void> {
    if (this.#lifted.has(queue)) return;
    const epoch = this.#epoch;
    const cells = this.#options.cells();
    const lifts = await Promise.allSettled(cells.map((cell) => this.#limit(queue, cell, '', epoch)));
    await cells[0].connection.del(grantsKey(cells[0].keyPrefix, queue));
    // A cell that is away has its limit until it is back.
    if (lifts.every(({ status }) => status === 'fulfilled')) this.#lifted.add(queue);
  }
}

const leaderKey = (keyPrefix: string) => `${keyPrefix}slots-leader`;
const grantsKey = (keyPrefix: string, queue: string) => `${keyPrefix}slots:${queue}`;

function placeOf(cell: LimitedCell, demand: QueueDemand, noted: string | undefined): Place {
  const known = noted === undefined ? undefined : Number(noted);
  const granted = known ?? Math.max(demand.limit ?? 0, demand.running);
  return { cell, demand, granted, noted: known, share: 0 };
}

function smoothed(before: Map<string, number>, name: string, now: number): number {
  const value = smoothing * now + (1 - smoothing) * (before.get(name) ?? now);
  before.set(name, value);
  return value;
}
