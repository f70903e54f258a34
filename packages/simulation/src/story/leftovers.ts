import { crowdModel, models } from '../service/names.ts';
import type { CellKeys } from '@sluice/response-store';
import type { SimulatedNetwork } from '../world/simulated-network.ts';
import type { SimulatedService } from '../service/simulated-service.ts';

const queues = [...Object.values(models), crowdModel].join('|');

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
  // Nobody reads it here.
  /:outbox$/,
  new RegExp(`:(${queues}):(meta|id|events|completed|failed|marker|stalled|pc|delay)$`),
  // Finished jobs, bounded in number.
  new RegExp(`:(${queues}):create-response_[A-Za-z0-9]+$`),
];

const keysWithoutExpiry = `
local found = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  if redis.call('PTTL', key) == -1 then found[#found + 1] = key end
end
return found`;

/** A job whose response was lost or has ended waits outside of its queue for as long as a day, and goes with its claim then. */
const untilTomorrow = new RegExp(`:(${queues}):delayed$`);

/** The traces in the store of responses that have ended: none, but for a moment. `mayKeepJobs` says that jobs may outlive them. */
export function leftovers({ networks, keys }: SimulatedService, mayKeepJobs: boolean): string[] {
  return networks.flatMap((network, at) => leftoversIn(network, keys.inCell(at), mayKeepJobs));
}

function leftoversIn(network: SimulatedNetwork, cellKeys: CellKeys, mayKeepJobs: boolean): string[] {
  const found: string[] = [];
  const load = texts(network.ask('HGETALL', cellKeys.load));
  for (let at = 0; at < load.length; at += 2) {
    if (load[at + 1] !== '0') found.push(`the counter ${load[at]} of what waits is ${load[at + 1]}`);
  }
  const open = texts(network.ask('ZRANGE', cellKeys.open, '0', '-1'));
  if (open.length > 0) found.push(`open responses: ${open.join(', ')}`);
  for (const key of texts(network.ask('EVAL', keysWithoutExpiry, '0'))) {
    const isExpected =
      permanent.some((pattern) => pattern.test(key)) || (mayKeepJobs && untilTomorrow.test(key));
    if (!isExpected) found.push(`a key that never expires: ${key}`);
  }
  return found;
}

function texts(reply: unknown): string[] {
  return Array.isArray(reply) ? reply.map(String) : [];
}
