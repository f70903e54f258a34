import type { TenantLimits } from './key-schema.ts';
import type { LiveLimits } from './live-settings.ts';

/** A tenant has half of what there is of anything that it could keep the others from, unless its keys say otherwise. */
const share = 0.5;

/** The limits of a tenant that hold now. An absent one means no limit. */
export type LimitsInEffect = TenantLimits & Required<Pick<TenantLimits, 'queued' | 'queuedBytes'>>;

/**
 * The limits of a tenant: those that its keys say, and its share of each bound of the service that they leave out. A
 * tenant has no more than its share when it is the only one, because another may come at any time.
 *
 * @param redisBytes most memory of Redis; undefined when nobody knows, and then what is stored has no limit.
 */
export function limitsInEffect(
  own: TenantLimits,
  service: Pick<LiveLimits, 'queued' | 'queuedBytes' | 'redisMemoryPercent'>,
  redisBytes: number | undefined,
): LimitsInEffect {
  return {
    queued: Math.ceil(service.queued * share),
    queuedBytes: Math.ceil(service.queuedBytes * share),
    ...(redisBytes !== undefined && {
      storedBytes: Math.ceil(((redisBytes * service.redisMemoryPercent) / 100) * share),
    }),
    ...own,
  };
}
