import { lookup, type LookupOptions } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { isPrivateHost } from '@sluice/contract';
import { type Asker, type LookupAll, oneAtATime } from './one-lookup.ts';

/** Why a host is not called. */
export class PrivateAddressError extends Error {
  constructor() {
    super('the address is not a public one');
    this.name = 'PrivateAddressError';
  }
}

/** What `net` calls, which may be told who asks. */
export type GuardedLookup = (
  host: string,
  options: LookupOptions & { asker?: Asker },
  done: Parameters<LookupFunction>[2],
) => void;

/** All lookups of the process for tenants. */
const lookupOfTenants = oneAtATime(lookup);

export interface GuardedLookupOptions {
  /** Whether addresses of private networks may be called, too, as in tests and on a developer's machine. */
  allowPrivate: boolean;
  /** `dns.lookup` by default, one at a time. */
  lookup?: LookupAll;
}

/**
 * Resolves names that tenants have chosen, for a connection. Each address of a name is looked at, and the connection goes to one of those: a
 * name that resolves to something else a moment later is of no use to whoever owns it. A host that is an address is not resolved, so its URL
 * is checked instead; see `checkEndpointUrl`.
 */
export function guardedLookup({
  allowPrivate,
  lookup: resolve = lookupOfTenants,
}: GuardedLookupOptions): GuardedLookup {
  return (host, options, done) => {
    resolve(host, { ...options, all: true }, (error, addresses) => {
      if (error) return done(error, '');
      const [first] = addresses;
      const isRefused = !allowPrivate && addresses.some(({ address }) => isPrivateAddress(address));
      if (isRefused) done(new PrivateAddressError(), '');
      else if (!first) done(new Error('the name has no address'), '');
      else if (options.all === true) done(null, addresses);
      else done(null, first.address, first.family);
    });
  };
}

/** Whether an address, in any spelling, is not of the public Internet. */
export function isPrivateAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 0) return true;
  const [withoutZone = address] = address.split('%');
  const { hostname } = new URL(family === 6 ? `http://[${withoutZone}]` : `http://${address}`);
  return isPrivateHost(hostname);
}
