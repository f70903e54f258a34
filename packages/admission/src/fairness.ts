/** The cost of one response to a flow of weight 1 in the queue, in ticks of virtual time. */
const ticks = 4;

/**
 * How far a flow moves on in the queue by one response, in ticks: the less the heavier it is. A flow is a tenant in a
 * tier, and its weight the product of theirs.
 */
export function costOf(tenantWeight: number, tierWeight: number): number {
  return ticks / (tenantWeight * tierWeight);
}
