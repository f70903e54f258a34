import type { LiveLimits } from '@sluice/config';
import {
  limitNames,
  type ServiceBound,
  type TenantLimits,
  tenantLimits,
} from '@sluice/contract/tenant-limits';

/** A tenant has half of what there is of anything that it could keep the others from, unless its keys say otherwise. */
const share = 0.5;

/**
 * The limits of a tenant that hold now: those that its keys say, and its share of each bound of the service that they leave
 * out. An absent one means no limit. A tenant has no more than its share when it is the only one, because another may come
 * at any time.
 *
 * @param redisBytes most memory of Redis; undefined when nobody knows, and then what is stored has no limit.
 */
export function limitsInEffect(
  own: TenantLimits,
  {
    queued,
    queuedBytes,
    redisMemoryPercent,
  }: Pick<LiveLimits, 'queued' | 'queuedBytes' | 'redisMemoryPercent'>,
  redisBytes: number | undefined,
): TenantLimits {
  const bounds: Record<ServiceBound, number | undefined> = {
    queued,
    queuedBytes,
    redisBytes: redisBytes === undefined ? undefined : (redisBytes * redisMemoryPercent) / 100,
  };
  const limits = { ...own };
  for (const [name, bound] of shares) {
    const whole = bounds[bound];
    if (limits[name] === undefined && whole !== undefined) limits[name] = Math.ceil(whole * share);
  }
  return limits;
}

/** The limits that are shares of the service. */
const shares = limitNames.flatMap((name) => {
  const { otherwise } = tenantLimits[name];
  return typeof otherwise === 'object' && 'halfOf' in otherwise ? [[name, otherwise.halfOf] as const] : [];
});
