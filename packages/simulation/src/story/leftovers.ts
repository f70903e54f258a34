import { crowdModel, models, tenants } from '../service/names.ts';
import type { CellKeys } from '@sluice/response-store';
import type { SimulatedNetwork } from '../world/simulated-network.ts';
import type { SimulatedService } from '../service/simulated-service.ts';

const queues = [...Object.values(models), crowdModel, 'webhooks%'].join('|');

/** Keys without an expiry that a service has when nobody asks for anything. */
const permanent = [
  /:load$/,
  /:sealing-key$/,
  // Whether the store was emptied.
  /:store-mark:(api|worker)$/,
  // What operators did, bounded in number.
  /:(journal|acts|audit(:[a-z.]+)?)$/,
  // The cells that there are, the numbers of them that tenants have, and the grants of limits.
  /:(cells|cell-counts|stored-cells|slots-epoch|slots-fence)$/,
  new RegExp(`:slots:(${queues})$`),
  // Ends for those who are to be told of them, and how many each of them was given.
  /:outbox(:(usage|webhooks):given)?$/,
  new RegExp(`:(${queues}):(meta|id|events|completed|failed|marker|stalled|pc|delay)$`),
  // Finished jobs, bounded in number, and those of deliveries.
  new RegExp(`:(${queues}):(create-response_[A-Za-z0-9]+|evt_[0-9a-f]+-we_[A-Za-z0-9]+)$`),
  // The batches of a tenant, bounded in number.
  new RegExp(`:batches:(${Object.values(tenants).join('|')})$`),
  // The endpoints of a tenant.
  new RegExp(`:webhooks:(${Object.values(tenants).join('|')})$`),
];

const keysWithoutExpiry = `
local found = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  if redis.call('PTTL', key) == -1 then found[#found + 1] = key end
end
return found`;

/** The outboxes with ends that were not planned for endpoints, as far as is noted. */
const untold = `
local found = {}
for _, key in ipairs(redis.call('KEYS', '*:outbox')) do
  local last = redis.call('XINFO', 'STREAM', key)
  local is_told = false
  for at = 1, #last, 2 do if last[at] == 'last-generated-id' then last = last[at + 1] break end end
  for _, pairs in ipairs(redis.call('XINFO', 'GROUPS', key)) do
    local group = {}
    for at = 1, #pairs, 2 do group[pairs[at]] = pairs[at + 1] end
    if group['name'] == 'webhooks' then is_told = group['pending'] == 0 and group['last-delivered-id'] == last end
  end
  if not is_told then found[#found + 1] = key end
end
return found`;

/** The endpoints of which deliveries have not ended. */
const openDeliveries = `
return redis.call('KEYS', '*:webhook-deliveries:*')`;

interface Expected {
  /** Whether endpoints are told of ends. */
  hasWebhooks: boolean;
}

/** The traces in the store of responses that have ended: none, but for a moment. */
export function leftovers({ networks, keys }: SimulatedService, expected: Expected): string[] {
  return networks.flatMap((network, at) => leftoversIn(network, keys.inCell(at), expected));
}

function leftoversIn(network: SimulatedNetwork, cellKeys: CellKeys, { hasWebhooks }: Expected): string[] {
  const found: string[] = [];
  const load = texts(network.ask('HGETALL', cellKeys.load));
  for (let at = 0; at < load.length; at += 2) {
    if (load[at + 1] !== '0') found.push(`the counter ${load[at]} of what waits is ${load[at + 1]}`);
  }
  const open = texts(network.ask('ZRANGE', cellKeys.open, '0', '-1'));
  if (open.length > 0) found.push(`open responses: ${open.join(', ')}`);
  if (hasWebhooks)
    for (const key of texts(network.ask('EVAL', untold, '0')))
      found.push(`ends of which nobody was told: ${key}`);
  const openBatches = texts(network.ask('SMEMBERS', `${cellKeys.prefix}open-batches`));
  if (openBatches.length > 0) found.push(`open batches: ${openBatches.join(', ')}`);
  for (const key of texts(network.ask('EVAL', openDeliveries, '0'))) found.push(`open deliveries: ${key}`);
  for (const key of texts(network.ask('EVAL', keysWithoutExpiry, '0'))) {
    if (!permanent.some((pattern) => pattern.test(key))) found.push(`a key that never expires: ${key}`);
  }
  return found;
}

function texts(reply: unknown): string[] {
  return Array.isArray(reply) ? reply.map(String) : [];
}
