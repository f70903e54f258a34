import { suggestName } from '@sluice/config';
import type { ProviderRow } from '@sluice/contract/admin';
import { providerRows } from '@sluice/operator';
import { FatalError } from '@sluice/runtime';
import { nameToList, parseFlags } from '../command-flags.ts';
import { loadWithRedis, serviceFlags, serviceFlagsUsage } from '../load-with-redis.ts';
import { openOperator } from '../queues/operator.ts';
import type { Surroundings } from '../service-sources.ts';
import { type Column, columnsText } from '../table.ts';
import { changeProviders } from './change-providers.ts';

export const providersUsage = `Usage: sluice providers [list] [ID] [flags]
       sluice providers add ID --type TYPE --base-url URL [flags]
       sluice providers change ID [flags]
       sluice providers remove ID

Shows each provider that routes may name: whether the settings file names it or an operator has stored it, its servers, the environment
variable of the workers with its key, and how many models have a route to it. ID shows one provider; \`list ID\` also one whose id is that of a command.

add stores a provider in Redis, beside those of the file, which win. Stored models can use it, models of the file cannot. change replaces
what is given. remove refuses a provider that a stored model has a route to.

  --type TYPE                 openai-chat, openai-responses or simulator
  --base-url URL              the address of its API; \`none\` takes it away
  --replica URL               a server of several, in place of --base-url (may be repeated); \`none\` takes all away
  --api-key-variable NAME     the variable with its key, which each worker has: UPSTREAM_ and a name; \`none\` takes it away
  --discover yes|no           whether the models that it lists are offered
  --file FILE                 a provider as in the settings file, in JSON, without \`apiKey\` and \`headers\`; the flags win
  --json                      prints JSON, one line for each provider
${serviceFlagsUsage}

The command reaches Redis by REDIS_URL, by the settings file, or as the service does that runs with the data folder.`;

/** `sluice providers`: the providers of a service. Needs the Redis of the service, and no running process. */
export async function runProviders(argv: readonly string[], place: Surroundings): Promise<void> {
  const [command, ...rest] = argv;
  if ((command === 'add' || command === 'change' || command === 'remove') && !rest.includes('--help')) {
    return changeProviders(command, rest, place);
  }
  const { values, positionals } = parseFlags('providers', argv, {
    json: { type: 'boolean' },
    ...serviceFlags,
  });
  if (values.help) {
    console.log(providersUsage);
    return;
  }
  const id = nameToList('providers', positionals);
  await using operator = await openOperator(loadWithRedis(values, place));
  const { models } = operator;
  const all = providerRows(models);
  const rows = all.filter((row) => id === undefined || row.id === id);
  if (id !== undefined && rows.length === 0) {
    const ids = all.map((row) => row.id);
    throw new FatalError(`There is no provider '${id}': ${suggestName(id, ids)}`);
  }
  if (values.json === true) {
    for (const row of rows) console.log(JSON.stringify(row));
    return;
  }
  if (rows.length > 0) console.log(columnsText(columns, rows));
  if (id !== undefined) return;
  for (const { id: unusable, problem } of models.unusableProviders) {
    console.error(`sluice: the stored provider '${unusable}' is not in effect: ${problem}`);
  }
}

const columns: readonly Column<ProviderRow>[] = [
  ['provider', ({ id }) => id],
  ['from', ({ origin }) => origin],
  ['type', ({ type }) => type],
  ['servers', ({ servers }) => servers.join(', ') || '-'],
  ['key in', ({ key_variable: variable }) => variable ?? '-'],
  ['discovers', ({ discover }) => (discover ? 'yes' : 'no')],
  ['models', ({ models }) => String(models)],
];
