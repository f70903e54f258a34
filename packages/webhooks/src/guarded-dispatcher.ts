import { lookup, type LookupAddress, type LookupOptions } from 'node:dns';
import { isIP } from 'node:net';
import { isPrivateHost } from '@sluice/contract';
import { Agent, type Dispatcher } from 'undici';

/** Why a host is not called. */
export class PrivateAddressError extends Error {
  constructor() {
    super('the address is not a public one');
    this.name = 'PrivateAddressError';
  }
}

type LookupAll = (
  host: string,
  options: LookupOptions & { all: true },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export interface DispatcherOptions {
  /** Whether addresses of private networks may be called, too, as in tests and on a developer's machine. */
  allowPrivate: boolean;
  connectMs: number;
  /** `dns.lookup` by default. */
  lookup?: LookupAll;
}

/**
 * Connections to addresses that tenants name. A name is resolved, each of its addresses is looked at, and the connection goes to
 * one of those: a name that resolves to something else a moment later is of no use to whoever owns it. Connections are not kept: a
 * receiver may be silent for hours.
 */
export function guardedDispatcher(options: DispatcherOptions): Dispatcher {
  return new Agent({
    connect: {
      timeout: options.connectMs,
      lookup: (host, lookupOptions, done) => {
        resolveGuarded(host, lookupOptions, options, (error, addresses) => {
          const [first] = addresses;
          if (error || !first) done(error ?? new Error('the name has no address'), '', 0);
          else if (lookupOptions.all) done(null, addresses);
          else done(null, first.address, first.family);
        });
      },
    },
    pipelining: 0,
  });
}

function resolveGuarded(
  host: string,
  lookupOptions: LookupOptions,
  { allowPrivate, lookup: resolve = lookup }: DispatcherOptions,
  done: (error: Error | null, addresses: LookupAddress[]) => void,
): void {
  resolve(host, { ...lookupOptions, all: true }, (error, addresses) => {
    if (error) return done(error, []);
    const isRefused = !allowPrivate && addresses.some(({ address }) => isPrivateAddress(address));
    done(isRefused ? new PrivateAddressError() : null, isRefused ? [] : addresses);
  });
}

/** Whether an address, in any spelling, is not of the public Internet. */
export function isPrivateAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 0) return true;
  const [withoutZone = address] = address.split('%');
  const { hostname } = new URL(family === 6 ? `http://[${withoutZone}]` : `http://${address}`);
  return isPrivateHost(hostname);
}
