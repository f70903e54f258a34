import type { ModelSettings } from '@sluice/config';
import { drainQueue } from '@sluice/operator';
import { queueName } from '@sluice/queue';
import { pause } from '@sluice/runtime';
import { badUsage, parseFlags } from '../command-flags.ts';
import { loadWithRedis, serviceFlags } from '../load-with-redis.ts';
import { openOperator, type Operator } from '../queues/operator.ts';
import type { Surroundings } from '../service-sources.ts';
import { readMembers } from './read-members.ts';

/** By when every process has heard of a removal and accepts nothing more, in milliseconds. */
const everywhereMs = 2_500;

const memberFlags = {
  route: { type: 'string', multiple: true },
  queue: { type: 'string' },
  concurrency: { type: 'string' },
  'context-tokens': { type: 'string' },
  'max-output-tokens': { type: 'string' },
  price: { type: 'string' },
  file: { type: 'string' },
} as const;

/** `sluice models add | change | remove`: stored models of a service, whether one of its processes runs or not. */
export async function changeModels(
  command: 'add' | 'change' | 'remove',
  argv: readonly string[],
  place: Surroundings,
): Promise<void> {
  const { values, positionals } = parseFlags('models', argv, {
    json: { type: 'boolean' },
    drain: { type: 'boolean' },
    ...memberFlags,
    ...serviceFlags,
  });
  const [id, more] = positionals;
  if (id === undefined) throw badUsage('models', `'${command}' needs the name of a model`);
  if (more !== undefined) throw badUsage('models', `'${command}' takes one model`);
  if (values.drain && command !== 'remove') throw badUsage('models', '--drain belongs to remove');
  const members = await membersOf(values, place.cwd);
  if (command === 'remove' && Object.keys(members).length > 0)
    throw badUsage('models', "'remove' takes --drain alone");
  if (command === 'change' && Object.keys(members).length === 0) {
    throw badUsage('models', "'change' needs what to change, such as --concurrency 8");
  }
  await using operator = await openOperator(loadWithRedis(values, place));
  const json = values.json ?? false;
  if (command === 'remove') return await remove(operator, id, { drains: values.drain ?? false, json });
  const { modelChanges } = operator;
  const model = await (command === 'add'
    ? modelChanges.add({ ...members, id })
    : modelChanges.change(id, members));
  if (json) return console.log(JSON.stringify(model));
  const done = command === 'add' ? 'Added' : 'Changed';
  console.log(`${done} '${id}', ${wordsOf(model)}. Every process follows within two seconds.`);
}

async function remove(
  { models, modelChanges, store, queues }: Operator,
  id: string,
  { drains, json }: { drains: boolean; json: boolean },
): Promise<void> {
  const { queue } = await modelChanges.remove(id, drains ? { aloneAmong: models.models } : {});
  let cancelled = 0;
  if (drains) {
    await pause(everywhereMs, new AbortController().signal);
    cancelled = await drainQueue({ store, queue: queues }, queueName(queue), () => undefined);
  }
  if (json) console.log(JSON.stringify({ model: id, queue, cancelled }));
  else if (drains) console.log(`Removed '${id}', and cancelled ${cancelled} that waited for it.`);
  else console.log(`Removed '${id}'. What waits for it is served; --drain would cancel that.`);
}

/** The members of a model that the flags give, in the names of the settings file; a file first. */
async function membersOf(
  values: { [Flag in keyof typeof memberFlags]?: string | string[] | undefined },
  cwd: string,
): Promise<Record<string, unknown>> {
  const { route, queue, concurrency, 'context-tokens': context, 'max-output-tokens': output } = values;
  const { price, file } = values;
  const given = {
    routes: [route ?? []].flat().map((text) => {
      const [provider = '', ...name] = text.split(':');
      return { provider, ...(name.length > 0 && { model: name.join(':') }) };
    }),
    queue,
    concurrency: numberOf('concurrency', concurrency),
    contextTokens: numberOf('context-tokens', context),
    maxOutputTokens: numberOf('max-output-tokens', output),
    price: priceIn(price),
  };
  const said = Object.entries(given).filter(
    ([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0),
  );
  return {
    ...(typeof file === 'string' && (await readMembers(file, { cwd, section: 'models' }))),
    ...Object.fromEntries(said),
  };
}

/** `none` takes the member away. */
function numberOf(flag: string, text: string | string[] | undefined): number | null | undefined {
  if (typeof text !== 'string') return undefined;
  if (text === 'none') return null;
  if (!/^\d{1,10}$/.test(text)) throw badUsage('models', `--${flag}: must be a whole number, or none`);
  return Number(text);
}

/** The prices of input, output, cached input and writes to a cache, of which the first two must be there. `none` takes the price away. */
function priceIn(text: string | string[] | undefined): Record<string, number> | null | undefined {
  if (typeof text !== 'string') return undefined;
  if (text === 'none') return null;
  if (!/^\d+(\.\d+)?(,\d+(\.\d+)?){1,3}$/.test(text))
    throw badUsage('models', '--price: must be two to four numbers such as 2.5,10, or none');
  const [input = 0, output = 0, cachedInput, cacheWrite] = text.split(',').map(Number);
  return {
    input,
    output,
    ...(cachedInput !== undefined && { cachedInput }),
    ...(cacheWrite !== undefined && { cacheWrite }),
  };
}

function wordsOf({ routes, queue, concurrency }: ModelSettings): string {
  const to = routes.map(({ provider, model }) => `${provider}:${model}`).join(', ');
  return `to ${to}, in the queue '${queue}', ${concurrency === undefined ? 'without a limit' : `at most ${concurrency} at a time`}`;
}
