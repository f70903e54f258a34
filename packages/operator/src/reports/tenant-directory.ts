import { setImmediate as breathe } from 'node:timers/promises';
import { type KeyRing, type KeySettings, type LiveSettings, type Tenant, tenantsOf } from '@sluice/config';

/** Keys that are looked at before others of this process have their turn. */
const step = 2_000;

export interface TenantPage {
  tenants: { tenant: Tenant; keys: number }[];
  hasMore: boolean;
}

/** The tenants of the keys in effect, for pages of them: there may be a hundred thousand. */
export class TenantDirectory {
  readonly #live: Pick<LiveSettings, 'keys'>;
  #known: { ring: KeyRing; tenants: Promise<ReadonlyMap<string, readonly KeySettings[]>> } | undefined;

  constructor(live: Pick<LiveSettings, 'keys'>) {
    this.#live = live;
  }

  /**
   * Some of those whose name has the text in it, in whichever case: `first` before the others, which come in the order of their
   * first keys. `now` is in milliseconds since 1970.
   */
  async page(
    { q = '', offset, limit }: { q?: string | undefined; offset: number; limit: number },
    { first, now }: { first: readonly string[]; now: number },
  ): Promise<TenantPage> {
    const tenants = await this.#tenants();
    const wanted = q.trim().toLowerCase();
    const page: TenantPage = { tenants: [], hasMore: false };
    let found = 0;
    for (const name of inOrder(tenants, first)) {
      if (!name.toLowerCase().includes(wanted)) continue;
      found += 1;
      if (found <= offset) continue;
      page.hasMore = found > offset + limit;
      if (page.hasMore) break;
      const keys = tenants.get(name) ?? [];
      for (const tenant of tenantsOf(keys, now)) page.tenants.push({ tenant, keys: keys.length });
    }
    return page;
  }

  /** The weights of tenants; 1 for one that has no key any more. */
  async weightsOf(names: Iterable<string>): Promise<Map<string, number>> {
    const tenants = await this.#tenants();
    return new Map([...names].map((name) => [name, tenants.get(name)?.[0]?.weight ?? 1]));
  }

  /** Made once for the keys as they are, in steps. */
  #tenants(): Promise<ReadonlyMap<string, readonly KeySettings[]>> {
    const ring = this.#live.keys;
    if (this.#known?.ring !== ring) this.#known = { ring, tenants: gather(ring.all()) };
    return this.#known.tenants;
  }
}

/** The names that are known, some of them before the others. */
function* inOrder(known: ReadonlyMap<string, unknown>, first: readonly string[]): Generator<string> {
  const ahead = new Set(first.filter((name) => known.has(name)));
  yield* ahead;
  for (const name of known.keys()) if (!ahead.has(name)) yield name;
}

async function gather(keys: Iterable<KeySettings>): Promise<Map<string, KeySettings[]>> {
  const tenants = new Map<string, KeySettings[]>();
  let seen = 0;
  for (const key of keys) {
    seen += 1;
    if (seen % step === 0) await breathe();
    const known = tenants.get(key.name);
    if (known) known.push(key);
    else tenants.set(key.name, [key]);
  }
  return tenants;
}
