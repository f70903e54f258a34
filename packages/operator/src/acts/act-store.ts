import { readFileSync } from 'node:fs';
import { type Act, actSchema } from '@sluice/contract/admin';
import type { Redis } from 'ioredis';

export type ActConnection = Pick<Redis, 'eval' | 'get' | 'hget' | 'hset' | 'hexists' | 'lrange'>;

export interface ActStoreOptions {
  connection: ActConnection;
  /** Starts every key of the cell. */
  keyPrefix: string;
  /** How long a silent act counts as alive, in milliseconds; 15 seconds by default. */
  leaseMs?: number;
}

/** The answer to a report of an act: `lost` when another act has begun since. */
export type ActReply = 'go_on' | 'stop' | 'lost';

const defaultLeaseMs = 15_000;

/** How long an act can be read after its last report, in milliseconds, and how many can. */
const keepMs = 7 * 86_400_000;
const mostActs = 100;

const scriptOf = (name: string) =>
  readFileSync(new URL(`../../src/acts/${name}.lua`, import.meta.url), 'utf8');
const begin = scriptOf('begin-act');
const report = scriptOf('report-act');

/**
 * Acts on many responses: one at a time over all processes of a service, and how far each is.
 *
 * Every call may be sent again after a lost reply.
 */
export class ActStore {
  readonly #connection: ActConnection;
  readonly #prefix: string;
  readonly leaseMs: number;

  constructor({ connection, keyPrefix, leaseMs = defaultLeaseMs }: ActStoreOptions) {
    this.#connection = connection;
    this.#prefix = keyPrefix;
    this.leaseMs = leaseMs;
  }

  /** @returns the id of the act that is under way: that of another one when this one has not begun. */
  async begin(act: Act): Promise<string> {
    const keys = [this.#lease, `${this.#prefix}acts`, this.#keyOf(act.id)];
    const args = [act.id, JSON.stringify(act), this.leaseMs, keepMs, mostActs];
    return String(await this.#connection.eval(begin, keys.length, ...keys, ...args));
  }

  /** Whether an act is under way, in whichever process. */
  async isBusy(): Promise<boolean> {
    return (await this.#connection.get(this.#lease)) !== null;
  }

  /** Says how far an act is; it is over when its state is not `running`. */
  async report(act: Act): Promise<ActReply> {
    const keys = [this.#lease, this.#keyOf(act.id)];
    const args = [act.id, JSON.stringify(act), this.leaseMs, keepMs, act.state === 'running' ? 0 : 1];
    const reply = await this.#connection.eval(report, keys.length, ...keys, ...args);
    return reply as ActReply; // the script has no other
  }

  /** Asks the process that runs an act to stop it. False when there is no such act. One that is over stays as it is. */
  async askToStop(id: string): Promise<boolean> {
    const key = this.#keyOf(id);
    if ((await this.#connection.hexists(key, 'report')) === 0) return false;
    await this.#connection.hset(key, 'stop', '1');
    return true;
  }

  /** An act as it stands; undefined when it is unknown or long over. */
  async read(id: string): Promise<Act | undefined> {
    const [act] = await this.#readAll([id]);
    return act;
  }

  /** The latest acts, newest first. */
  async list(): Promise<Act[]> {
    return this.#readAll(await this.#connection.lrange(`${this.#prefix}acts`, 0, mostActs - 1));
  }

  async #readAll(ids: readonly string[]): Promise<Act[]> {
    // The lease is read last: an act that ends in between has given it back and says so in its report.
    const reports = await Promise.all(ids.map((id) => this.#connection.hget(this.#keyOf(id), 'report')));
    const acts = reports.flatMap((json) => (json === null ? [] : readAct(json)));
    if (!acts.some(({ state }) => state === 'running')) return acts;
    const holder = await this.#connection.get(this.#lease);
    return Promise.all(acts.map((act) => this.#asItStands(act, holder)));
  }

  /** An act that says `running` without the lease is either over by now, or its process is gone. */
  async #asItStands(act: Act, holder: string | null): Promise<Act> {
    if (act.state !== 'running' || act.id === holder) return act;
    const json = await this.#connection.hget(this.#keyOf(act.id), 'report');
    const latest = (json === null ? undefined : readAct(json)[0]) ?? act;
    return latest.state === 'running' ? { ...latest, state: 'interrupted' } : latest;
  }

  get #lease(): string {
    return `${this.#prefix}acting`;
  }

  #keyOf(id: string): string {
    return `${this.#prefix}act:${id}`;
  }
}

function readAct(json: string): Act[] {
  const { data } = actSchema.safeParse(JSON.parse(json));
  return data === undefined ? [] : [data];
}
