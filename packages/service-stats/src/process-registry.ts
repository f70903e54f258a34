import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { heardKey, processesKey, processKey, willsKey } from './keys.ts';

/** How often a process says that it runs, in milliseconds. */
const announceEveryMs = 5_000;

/** How long a process counts that says nothing, in milliseconds. */
const silentMs = 15_000;

/** How long ids stay in the list of processes, in milliseconds. */
const listedMs = 60_000;

/** How long a process that fell silent without a word is remembered, in milliseconds, and how many are. */
const rememberedMs = 86_400_000;
const mostRemembered = 1_000;

/** Most lost processes that are read, those heard of last. */
const mostLost = 50;

const keepWill = readFileSync(new URL('../src/keep-will.lua', import.meta.url), 'utf8');

/** Most processes that are read, those heard of last. */
const mostRead = 1_000;

interface RegistryOptions {
  connection: Pick<Redis, 'pipeline' | 'zrange' | 'mget' | 'hmget'>;
  /** Starts every key of the cell. */
  keyPrefix: string;
}

export interface ProcessAnnouncerOptions extends RegistryOptions {
  /** Tells this process from all others, also from others of its host, and from its own predecessor. */
  processId: string;
  /** What it says of itself now: plain data. */
  report: () => object;
  /** What is told of it for a day when it falls silent: few members of the report. */
  will: () => object;
  /** The store's clock, in milliseconds; undefined while it is not known. Until then nothing is said. */
  now: () => number | undefined;
  onError: (error: unknown) => void;
}

/**
 * Says every five seconds that this process runs, and what it is about. One that is silent for fifteen seconds is lost, which is told of it
 * for a day, or until it is heard of again. `stop` signs off: nothing is told of it any more.
 */
export class ProcessAnnouncer {
  readonly #options: ProcessAnnouncerOptions;
  #timer: NodeJS.Timeout | undefined;
  /** What was sent, in its order: a removal must be the last. */
  #sent: Promise<void> = Promise.resolve();

  constructor(options: ProcessAnnouncerOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setInterval(() => void this.announce(), announceEveryMs);
    void this.announce();
  }

  /** Says it now, when there is news. Never rejects. */
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
        // Those of processes that died.
        .zremrangebyscore(list, '-inf', at - listedMs)
        .pexpire(list, listedMs)
        .eval(keepWill, 2, ...wills, processId, JSON.stringify(will()), at, rememberedMs, mostRemembered),
    );
  }

  /** Takes this process out of the list, if Redis answers. Twice, or before `start`, is fine. */
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

/** What a process said of itself, and when, by the store's clock. */
export interface AnnouncedProcess {
  id: string;
  seenAt: number;
  /** As it was announced, by whatever release. */
  report: unknown;
}

/** The processes that were heard of in the last fifteen seconds of the store's clock. Rejects while Redis does not answer. */
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

/** Those that have been silent for longer, and have not signed off, with what they wanted to be told of them. Newest first. */
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

/** Ids with their times, newest first. */
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
