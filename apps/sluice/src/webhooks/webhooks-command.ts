import { type DeliveryRow, deliveryStates } from '@sluice/contract/admin';
import { FatalError } from '@sluice/runtime';
import { shownDeliveries } from '@sluice/webhooks';
import { badUsage, parseFlags } from '../command-flags.ts';
import { loadWithRedis, serviceFlags, serviceFlagsUsage } from '../load-with-redis.ts';
import { printableJson } from '../printable.ts';
import { openOperator } from '../queues/operator.ts';
import { tableText } from '../table.ts';
import type { Surroundings } from '../service-sources.ts';

/** How many are shown unless more are asked for, and at most. */
const shown = { usual: 50, most: 1_000 };

export const webhooksUsage = `Usage: sluice webhooks <command> [flags]

  list       shows the newest deliveries: what was told to whom, how often it was tried, and what came of it
  send ID    sends a delivery again that has ended, to the endpoint as it is now

  --tenant NAME   list: only those of a tenant
  --state STATE   list: waiting, active, delivered or failed (may be repeated)
  --limit N       list: how many, up to ${shown.most} [${shown.usual}]
  --json          prints one line of JSON for each delivery
${serviceFlagsUsage}

A delivery that has ended is kept for a week. It holds the type of an event and the id of a response, and nothing of its content. The
commands reach Redis by REDIS_URL, by the settings file, or as the service does that runs with the data folder.`;

/** `sluice webhooks …`: deliveries of webhooks. Needs the Redis of the service; a worker sends what is to be sent. */
export async function runWebhooks(argv: readonly string[], place: Surroundings): Promise<void> {
  const { values, positionals } = parseFlags('webhooks', argv, {
    tenant: { type: 'string' },
    state: { type: 'string', multiple: true },
    limit: { type: 'string' },
    json: { type: 'boolean' },
    ...serviceFlags,
  });
  const [command, id, more] = positionals;
  if (values.help || command === undefined) {
    console.log(webhooksUsage);
    return;
  }
  if (more !== undefined) throw badUsage('webhooks', `'${more}' is one argument too many`);
  const asked = statesIn(values.state ?? []);
  const limit = limitIn(values.limit);
  await using operator = await openOperator(loadWithRedis(values, place));
  const deliveries = shownDeliveries({
    connection: operator.connection,
    keyPrefix: operator.keyPrefix,
    now: () => operator.now(),
    onError: () => undefined, // The command itself says when it fails.
  });
  try {
    switch (command) {
      case 'list': {
        if (id !== undefined) throw badUsage('webhooks', "'list' takes flags only");
        const tenants = values.tenant === undefined ? undefined : [values.tenant];
        const found = await deliveries.list({ tenants, states: asked, limit });
        if (values.json === true) for (const each of found) console.log(printableJson(JSON.stringify(each)));
        else console.log(found.length === 0 ? 'There are no deliveries.' : tableOf(found));
        return;
      }
      case 'send': {
        if (id === undefined)
          throw badUsage('webhooks', "'send' needs the id of a delivery; 'list' shows them");
        const outcome = await deliveries.sendAgain(id);
        if (outcome === 'unknown')
          throw new FatalError(`There is no delivery '${id}': 'sluice webhooks list' shows them.`);
        if (outcome === 'under_way')
          throw new FatalError(`The delivery '${id}' has not ended yet, and is tried again by itself.`);
        console.log(
          values.json === true ? JSON.stringify({ id, state: 'waiting' }) : `A worker sends '${id}' again.`,
        );
        return;
      }
      default:
        throw badUsage('webhooks', `there is no command '${command}'`);
    }
  } finally {
    await deliveries.close();
  }
}

function statesIn(given: readonly string[]): readonly DeliveryRow['state'][] {
  const wrong = given.find((each) => !deliveryStates.some((state) => state === each));
  if (wrong !== undefined)
    throw badUsage('webhooks', `--state: '${wrong}' is none of ${deliveryStates.join(', ')}`);
  return given.length === 0 ? deliveryStates : deliveryStates.filter((state) => given.includes(state));
}

function limitIn(text: string | undefined): number {
  const limit = text === undefined ? shown.usual : Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= shown.most) return limit;
  throw badUsage('webhooks', `--limit: must be a whole number from 1 to ${shown.most}`);
}

function tableOf(deliveries: readonly DeliveryRow[]): string {
  return tableText([
    ['added', 'tenant', 'event', 'of', 'state', 'tries', 'last try', 'id'],
    ...deliveries.map((each) => {
      const { tenant, event, subject, state, tries, note, id } = each;
      const added = new Date(each.added_at).toISOString().slice(0, 19).replace('T', ' ');
      return [added, tenant, event, subject, state, String(tries), note ?? '-', id];
    }),
  ]);
}
