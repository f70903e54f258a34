import type { OutputItem } from '@sluice/contract';
import { contextAfter, type LocalContext, type OwnContext } from '../responses/local-context.ts';

/** Most contexts that a connection keeps. Only the latest are continued, one of each lane that is in use. */
const mostOfConnection = 8;

/** The context that a connection keeps of a response. There is nothing to continue from before its end. */
type Kept = { kind: 'runs'; own: OwnContext } | { kind: 'ended'; context: LocalContext };

interface Entry {
  owner: ConnectionContexts;
  responseId: string;
  bytes: number;
}

/**
 * The contexts that the connections of a process keep in memory, so that a response that is not stored can be continued. When
 * they are too much, the oldest goes first: its client is told that the response is not found, and sends the whole again.
 *
 * A tenant has half of the room. A context beyond that takes the place of the tenant's own earlier ones. So does a context
 * that finds the room full, unless another tenant has more.
 */
export class LocalContexts {
  readonly #mostBytes: number;
  readonly #ofTenants = new Map<string, { bytes: number; entries: Set<Entry> }>();
  #bytes = 0;

  constructor({ mostBytes }: { mostBytes: number }) {
    this.#mostBytes = mostBytes;
  }

  /** Bytes kept, over all tenants. */
  get bytes(): number {
    return this.#bytes;
  }

  ofConnection(tenant: string): ConnectionContexts {
    return new ConnectionContexts(this, tenant);
  }

  /** Makes room and counts the entry. False if it is too large to be kept at all. */
  add(tenant: string, entry: Entry): boolean {
    const most = this.#mostBytes / 2;
    if (entry.bytes > most) return false;
    const ofTenant = this.#ofTenants.get(tenant) ?? { bytes: 0, entries: new Set() };
    this.#ofTenants.set(tenant, ofTenant);
    while (ofTenant.bytes + entry.bytes > most) this.#evictOldest(tenant);
    while (this.#bytes + entry.bytes > this.#mostBytes) this.#evictOldest(this.#largest());
    // An eviction of the last entry of the tenant has taken it out.
    this.#ofTenants.set(tenant, ofTenant);
    ofTenant.entries.add(entry);
    ofTenant.bytes += entry.bytes;
    this.#bytes += entry.bytes;
    return true;
  }

  remove(tenant: string, entry: Entry): void {
    const ofTenant = this.#ofTenants.get(tenant);
    if (!ofTenant?.entries.delete(entry)) return;
    ofTenant.bytes -= entry.bytes;
    this.#bytes -= entry.bytes;
    if (ofTenant.entries.size === 0) this.#ofTenants.delete(tenant);
  }

  #evictOldest(tenant: string): void {
    const [oldest] = this.#ofTenants.get(tenant)?.entries ?? [];
    if (!oldest) throw new TypeError('There is nothing to evict');
    oldest.owner.drop(oldest.responseId);
  }

  #largest(): string {
    let largest = '';
    let most = -1;
    for (const [tenant, { bytes }] of this.#ofTenants) {
      if (bytes > most) [largest, most] = [tenant, bytes];
    }
    return largest;
  }
}

/** The contexts of one connection. */
export class ConnectionContexts {
  readonly #all: LocalContexts;
  readonly #tenant: string;
  readonly #kept = new Map<string, { kept: Kept; entry: Entry }>();
  #isClosed = false;

  constructor(all: LocalContexts, tenant: string) {
    this.#all = all;
    this.#tenant = tenant;
  }

  /** The context of a response; undefined for one that this connection does not have, or no longer has. */
  get(responseId: string): Kept | undefined {
    return this.#kept.get(responseId)?.kept;
  }

  /** Keeps a request while its response runs. */
  begin(responseId: string, { previousId, input, links, inputTokens }: OwnContext): void {
    const own = { previousId, input, links, inputTokens };
    this.#keep(responseId, { kind: 'runs', own }, input.length);
  }

  /** Keeps what an ended response can be continued from, if its request is still there. */
  end(responseId: string, output: readonly OutputItem[]): void {
    const kept = this.get(responseId);
    if (kept?.kind !== 'runs') return;
    const context = contextAfter(kept.own, output);
    this.#keep(responseId, { kind: 'ended', context }, context.items.length);
    const ended = [...this.#kept].filter(([, each]) => each.kept.kind === 'ended');
    for (const [oldest] of ended.slice(0, Math.max(0, ended.length - mostOfConnection))) this.drop(oldest);
  }

  drop(responseId: string): void {
    const found = this.#kept.get(responseId);
    if (!found) return;
    this.#kept.delete(responseId);
    this.#all.remove(this.#tenant, found.entry);
  }

  /** Its connection is closed: what a turn of it comes to after that is not kept. */
  close(): void {
    this.#isClosed = true;
    for (const responseId of this.#kept.keys()) this.drop(responseId);
  }

  #keep(responseId: string, kept: Kept, bytes: number): void {
    this.drop(responseId);
    if (this.#isClosed) return;
    const entry: Entry = { owner: this, responseId, bytes };
    if (this.#all.add(this.#tenant, entry)) this.#kept.set(responseId, { kept, entry });
  }
}
