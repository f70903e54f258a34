import { TenantQueues } from '@sluice/admission';
import type { LookupAddress, LookupOptions } from 'node:dns';

/** Who looks a name up. Nobody hears the answer once the signal has said that it is too late. */
export interface Asker {
  tenant: string;
  signal: AbortSignal;
}

/** Resolves a name to all of its addresses. */
export type LookupAll = (
  host: string,
  options: LookupOptions & { all: true; asker?: Asker },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/**
 * The same with one lookup at a time; tenants take turns. A process looks names up in two threads, and a name server that is silent holds
 * one of them for long after its asker has gone: whoever has such a name could hold both, and nothing in the process would find its host.
 */
export function oneAtATime(lookup: LookupAll): LookupAll {
  const waiting = new TenantQueues<() => void>();
  let isBusy = false;
  const next = () => {
    isBusy = false;
    while (!isBusy) {
      const begin = waiting.take();
      if (!begin) return;
      begin();
    }
  };
  return (host, { asker, ...options }, done) => {
    const begin = () => {
      if (asker?.signal.aborted === true) return;
      isBusy = true;
      lookup(host, options, (error, addresses) => {
        next();
        done(error, addresses);
      });
    };
    if (isBusy) waiting.add(asker?.tenant ?? '', begin);
    else begin();
  };
}
