import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { heardKey, processesKey, processKey, willsKey } from './keys.ts';

/** How often a process reports, in milliseconds. */
const announceEveryMs = 5_000;

/** How long a process counts as running after its last report, in milliseconds. */
const silentMs = 15_000;

/** How long an id stays in the list of processes, in milliseconds. */
const listedMs = 60_000;

/** How long a lost process is remembered, in milliseconds, and how many are. */
const rememberedMs = 86_400_000;
const mostRemembered = 1_000;

/** Most lost processes that are read, the latest first. */
const mostLost = 50;

const keepWill = readFileSync(new URL('../src/keep-will.lua', import.meta.url), 'utf8');

/** Most processes that are read, the latest first. */
const mostRead = 1_000;

export interface RegistryOptions {
  connection: Pick<Redis, 'pipeline' | 'zrange' | 'mget' | 'hmget'>;
  /** Starts every key of the cell. */
  keyPrefix: string;
}

export interface ProcessAnnouncerOptions extends RegistryOptions {
  /** Identifies this process among all others, those of the same host and its own predecessor included. */
  processId: string;
  /** Makes its report: plain data. */
  report: () => object;
  /** Makes its will, which is shown for a day if it falls silent: few members of the report. */
  will: () => object;
  /** The store's clock, in milliseconds; undefined while it is not known. Until then the process does not report. */
  now: () => number | undefined;
  onError: (error: unknown) => void;
}

/**
 * Reports this process every five seconds. A process without a report for fifteen seconds is lost, and is shown as such for a
 * day, or until it reports again. `stop` signs off, after which the process is not shown any more.
 */
export class ProcessAnnouncer {
  readonly #options: ProcessAnnouncerOptions;
  #timer: NodeJS.Timeout | undefined;
  /** The last command. Commands go one after another, because a removal must be the last. */
  #sent: Promise<void> = Promise.resolve();

  constructor(options: ProcessAnnouncerOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setInterval(() => void this.announce(), announceEveryMs);
    void this.announce();
  }

  /** Reports now, because something has changed. Never rejects. */
  announce(): Promise<void> {
    const { connection, keyPrefix, processId, report, will, now } = this.#options;
    const wills = [heardKey(keyPrefix), willsKey(keyPrefix)];
    const at = now();
    if (at === undefined || this.#timer === undefined) return this.#sent;
    const list = processesKey(keyPrefix);
    return this.#send(
      connection
        .pipeline()
        .set(processKey(keyPrefix, processId), JSON.stringify(report()), 'PX', silentMs)
        .zadd(list, at, processId)
        // The ids of processes that died.
        .zremrangebyscore(list, '-inf', at - listedMs)
        .pexpire(list, listedMs)
        .eval(keepWill, 2, ...wills, processId, JSON.stringify(will()), at, rememberedMs, mostRemembered),
    );
  }

  /** Removes this process from the list, if Redis answers. Safe to call twice, or before `start`. */
  async stop(): Promise<void> {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    const { connection, keyPrefix, processId } = this.#options;
    await this.#send(
      connection
        .pipeline()
        .del(processKey(keyPrefix, processId))
        .zrem(processesKey(keyPrefix), processId)
        .zrem(heardKey(keyPrefix), processId)
        .hdel(willsKey(keyPrefix), processId),
    );
  }

  #send(commands: ReturnType<Redis['pipeline']>): Promise<void> {
    this.#sent = this.#exec(commands);
    return this.#sent;
  }

  async #exec(commands: ReturnType<Redis['pipeline']>): Promise<void> {
    try {
      const failed = (await commands.exec())?.find(([error]) => error !== null);
      if (failed) this.#options.onError(failed[0]);
    } catch (error) {
      this.#options.onError(error);
    }
  }
}

/** The last report of a process, and its time by the store's clock. */
export interface AnnouncedProcess {
  id: string;
  seenAt: number;
  /** The report as it was written, by any release. */
  report: unknown;
}

/** Reads the processes that reported in the last fifteen seconds by the store's clock. Rejects while Redis does not answer. */
export async function readProcesses(
  { connection, keyPrefix }: RegistryOptions,
  now: number,
): Promise<AnnouncedProcess[]> {
  const heard = await heardBetween(connection, processesKey(keyPrefix), {
    from: String(now - silentMs),
    to: '+inf',
    most: mostRead,
  });
  if (heard.length === 0) return [];
  const reports = await connection.mget(heard.map(({ id }) => processKey(keyPrefix, id)));
  return heard.flatMap((each, at) => {
    const report = parse(reports[at]);
    return report === undefined ? [] : [{ ...each, report }];
  });
}

/** Reads the processes that have been silent for longer and have not signed off, with their wills, the latest first. */
export async function readLostProcesses(
  { connection, keyPrefix }: RegistryOptions,
  now: number,
): Promise<AnnouncedProcess[]> {
  const lost = await heardBetween(connection, heardKey(keyPrefix), {
    from: String(now - rememberedMs),
    to: `(${now - silentMs}`,
    most: mostLost,
  });
  if (lost.length === 0) return [];
  const wills = await connection.hmget(willsKey(keyPrefix), ...lost.map(({ id }) => id));
  return lost.flatMap((each, at) => {
    const report = parse(wills[at]);
    return report === undefined ? [] : [{ ...each, report }];
  });
}

/** Reads ids with their times, the latest first. */
async function heardBetween(
  connection: Pick<Redis, 'zrange'>,
  key: string,
  { from, to, most }: { from: string; to: string; most: number },
): Promise<{ id: string; seenAt: number }[]> {
  const range = await connection.zrange(key, to, from, 'BYSCORE', 'REV', 'LIMIT', 0, most, 'WITHSCORES');
  const heard: { id: string; seenAt: number }[] = [];
  for (let at = 0; at + 1 < range.length; at += 2) {
    heard.push({ id: range[at] ?? '', seenAt: Number(range[at + 1]) });
  }
  return heard;
}

function parse(text: string | null | undefined): unknown {
  if (text == null) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
