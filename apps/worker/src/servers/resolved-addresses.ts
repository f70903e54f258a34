import { lookup } from 'node:dns/promises';
import { mostServers } from '@sluice/config';
import { pause } from '@sluice/runtime';

/** Resolves a name to all of its addresses. Rejects when there are none. */
export type Resolve = (host: string) => Promise<{ address: string; family: number }[]>;

/** How often a name is resolved, in milliseconds. */
const resolveEveryMs = 5_000;

/** Resolves a name as every other program of this machine does. */
export const resolveByMachine: Resolve = (host) => lookup(host, { all: true, order: 'verbatim' });

export interface ResolvedAddressesOptions {
  host: string;
  resolve: Resolve;
  everyMs?: number;
  /** Told of the addresses in their order, at each change. */
  onChange: (addresses: readonly string[]) => void;
}

/**
 * Resolves a name again and again. While it does not resolve, the addresses stay what they were: an outage of DNS is no outage
 * of the servers.
 */
export class ResolvedAddresses {
  readonly #options: ResolvedAddressesOptions;
  readonly #stopping = new AbortController();
  #known = '';
  #running: Promise<void> | undefined;

  constructor(options: ResolvedAddressesOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Resolves when nothing is done any more. May be called twice, or without a start. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await this.look();
      await pause(this.#options.everyMs ?? resolveEveryMs, signal);
    }
  }

  /** Resolves the name once. Never rejects. */
  async look(): Promise<void> {
    const { host, resolve, onChange } = this.#options;
    const { signal } = this.#stopping;
    const found = resolve(host).catch(() => []);
    const addresses = addressesIn(await unlessAborted(found, signal));
    const text = addresses.join(' ');
    if (addresses.length === 0 || text === this.#known || signal.aborted) return;
    this.#known = text;
    onChange(addresses);
  }
}

/** Resolves with the findings, or with none once the signal aborts: nothing can end a look-up, and a stop does not wait for it. */
async function unlessAborted<Item>(found: Promise<Item[]>, signal: AbortSignal): Promise<Item[]> {
  const stopped = Promise.withResolvers<Item[]>();
  const stop = () => stopped.resolve([]);
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  try {
    return await Promise.race([found, stopped.promise]);
  } finally {
    signal.removeEventListener('abort', stop); // the signal lives as long as the process
  }
}

/** Sorted. Of a name with addresses of both kinds those of IPv4 alone, because a server would otherwise be there twice. */
function addressesIn(found: readonly { address: string; family: number }[]): string[] {
  const ofFour = found.filter(({ family }) => family === 4);
  const addresses = (ofFour.length > 0 ? ofFour : found).map(({ address }) => address);
  return [...new Set(addresses)].toSorted().slice(0, mostServers);
}
