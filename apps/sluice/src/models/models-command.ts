import { isDiscovering, suggestName } from '@sluice/config';
import { queueName } from '@sluice/queue';
import { FatalError } from '@sluice/runtime';
import { nameToList, parseFlags } from '../command-flags.ts';
import { loadWithRedis, serviceFlags, serviceFlagsUsage } from '../load-with-redis.ts';
import { openOperator, type Operator } from '../queues/operator.ts';
import type { Surroundings } from '../service-sources.ts';
import { changeModels } from './change-models.ts';
import { discoveryLines, type ModelRow, modelsTable } from './models-table.ts';

export const modelsUsage = `Usage: sluice models [list] [NAME] [flags]
       sluice models add NAME --route PROVIDER[:MODEL] [flags]
       sluice models change NAME [flags]
       sluice models remove NAME [--drain]

Shows each model that clients may name: its routes in order of preference, whether the settings file names it, an operator has stored it or an upstream lists it,
its queue, how many wait and run there, and how many may run at a time ('-' stands for as many as the workers have slots). A route is
PROVIDER, or PROVIDER:NAME where the model has another name there. NAME shows one model; \`list NAME\` also one whose name is that of a command.

add stores a model in Redis, beside those of the file, which win; its routes may name providers of the file and stored ones (\`sluice providers\`). change replaces what is given.
remove lets nothing new in, and serves what waits.

  --route PROVIDER[:MODEL]   where its requests go, in order of preference (may be repeated)
  --queue NAME               the queue; the model's name unless given
  --concurrency N            most that run at a time; \`none\` takes the limit away
  --context-tokens N, --max-output-tokens N
  --price IN,OUT[,CACHED[,WRITTEN]]
                             of a million tokens, in usage.currency: of input, of output, of input from a cache and written to one
  --file FILE                a model as in the settings file, in JSON; the flags win
  --drain                    remove: cancels what waits
  --json                     prints JSON, one line for each model
${serviceFlagsUsage}

The file is read as it is now, which is what a running service does within seconds. What upstreams list is read from Redis, where
workers keep it. The command reaches Redis by REDIS_URL, by the settings file, or as the service does that runs with the data folder.`;

/** `sluice models`: the models of a service. Needs the Redis of the service, and no running process. */
export async function runModels(argv: readonly string[], place: Surroundings): Promise<void> {
  const [command, ...rest] = argv;
  if ((command === 'add' || command === 'change' || command === 'remove') && !rest.includes('--help')) {
    return changeModels(command, rest, place);
  }
  const { values, positionals } = parseFlags('models', argv, { json: { type: 'boolean' }, ...serviceFlags });
  if (values.help) {
    console.log(modelsUsage);
    return;
  }
  const name = nameToList('models', positionals);
  const settings = loadWithRedis(values, place);
  await using operator = await openOperator(settings);
  const { models, discovery } = operator;
  const ids = models.models.map(({ id }) => id);
  if (name !== undefined && !ids.includes(name)) {
    throw new FatalError(`There is no model '${name}': ${suggestName(name, ids)}`);
  }
  const rows = await rowsOf(operator, name);
  if (values.json === true) {
    for (const row of rows) console.log(JSON.stringify(row));
    return;
  }
  if (rows.length > 0) console.log(modelsTable(rows));
  for (const { id, problem } of models.unusable) {
    if (name === undefined) console.error(`sluice: the stored model '${id}' is not offered: ${problem}`);
  }
  if (name !== undefined) return;
  const asked = models.providers.filter(isDiscovering);
  const lines = discoveryLines(asked, (id) => discovery.known(id), operator.now());
  if (lines.length > 0) console.log(`${rows.length > 0 ? '\n' : ''}${lines.join('\n')}`);
}

/** Queues are read once, however many models share them. */
async function rowsOf({ models, queues }: Operator, name: string | undefined): Promise<ModelRow[]> {
  const asked = models.models.filter(({ id }) => name === undefined || id === name);
  const names = [...new Set(asked.map(({ queue }) => queue))];
  const read = await Promise.all(names.map(async (queue) => queues.backlog(queueName(queue))));
  return asked.map(({ id, routes, queue, concurrency }) => {
    const { waiting = 0, active = 0, isPaused = false } = read[names.indexOf(queue)] ?? {};
    return {
      model: id,
      from: models.originOf(id),
      routes,
      queue,
      state: isPaused ? 'paused' : 'open',
      waiting,
      active,
      concurrency: concurrency ?? null,
    };
  });
}
