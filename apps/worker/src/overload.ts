import type { ProviderError } from '@sluice/providers';

/** Statuses of a server that has too much to do, with or without `Retry-After`. */
const busyStatuses: ReadonlySet<number | undefined> = new Set([503, 529]);

/** Whether a call was refused because there were too many. */
export function isOverload({ fault, upstreamStatus, code }: ProviderError): boolean {
  if (fault === 'limited') return true;
  return fault === 'refused' && (busyStatuses.has(upstreamStatus) || code === 'server_is_overloaded');
}
