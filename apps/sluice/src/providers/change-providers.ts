import type { StoredProvider } from '@sluice/config';
import { badUsage, parseFlags } from '../command-flags.ts';
import { loadWithRedis, serviceFlags } from '../load-with-redis.ts';
import { readMembers } from '../models/read-members.ts';
import { openOperator } from '../queues/operator.ts';
import type { Surroundings } from '../service-sources.ts';

const memberFlags = {
  type: { type: 'string' },
  'base-url': { type: 'string' },
  replica: { type: 'string', multiple: true },
  'api-key-variable': { type: 'string' },
  discover: { type: 'string' },
  file: { type: 'string' },
} as const;

/** `sluice providers add | change | remove`: stored providers of a service, whether one of its processes runs or not. */
export async function changeProviders(
  command: 'add' | 'change' | 'remove',
  argv: readonly string[],
  place: Surroundings,
): Promise<void> {
  const { values, positionals } = parseFlags('providers', argv, {
    json: { type: 'boolean' },
    ...memberFlags,
    ...serviceFlags,
  });
  const [id, more] = positionals;
  if (id === undefined) throw badUsage('providers', `'${command}' needs the id of a provider`);
  if (more !== undefined) throw badUsage('providers', `'${command}' takes one provider`);
  const members = await membersOf(values, place.cwd);
  const isEmpty = Object.keys(members).length === 0;
  if (command === 'remove' && !isEmpty) throw badUsage('providers', "'remove' takes no members");
  if (command === 'change' && isEmpty) {
    throw badUsage('providers', "'change' needs what to change, such as --base-url URL");
  }
  await using operator = await openOperator(loadWithRedis(values, place));
  const { providerChanges } = operator;
  if (command === 'remove') {
    await providerChanges.remove(id);
    if (values.json) console.log(JSON.stringify({ provider: id }));
    else console.log(`Removed '${id}'. Responses that were accepted for its models are served.`);
    return;
  }
  const provider = await (command === 'add'
    ? providerChanges.add({ ...members, id })
    : providerChanges.change(id, members));
  if (values.json) return console.log(JSON.stringify(provider));
  const done = command === 'add' ? 'Added' : 'Changed';
  console.log(`${done} '${id}', ${wordsOf(provider)}. Every process follows within two seconds.`);
}

/** The members of a provider that the flags give, in the names of the settings file; a file first. `none` takes one away. */
async function membersOf(
  values: { [Flag in keyof typeof memberFlags]?: string | string[] | undefined },
  cwd: string,
): Promise<Record<string, unknown>> {
  const { type, 'base-url': baseUrl, replica, 'api-key-variable': variable, discover, file } = values;
  const replicas = replica === undefined ? undefined : [replica].flat();
  const given = {
    type,
    baseUrl: orNone(baseUrl),
    replicas: replicas?.[0] === 'none' ? null : replicas,
    apiKeyVariable: orNone(variable),
    discover: yesOrNo(discover),
  };
  const said = Object.entries(given).filter(([, value]) => value !== undefined);
  const ofFile = typeof file === 'string' ? await readMembers(file, { cwd, section: 'providers' }) : {};
  return { ...ofFile, ...Object.fromEntries(said) };
}

function orNone(text: string | string[] | undefined): string | string[] | null | undefined {
  return text === 'none' ? null : text;
}

function yesOrNo(text: string | string[] | undefined): boolean | undefined {
  if (text === undefined) return undefined;
  if (text !== 'yes' && text !== 'no') throw badUsage('providers', '--discover: must be yes or no');
  return text === 'yes';
}

function wordsOf(provider: StoredProvider): string {
  if (provider.type === 'simulator') return 'a simulator';
  const at = (provider.replicas ?? [provider.baseUrl]).join(', ');
  const { apiKeyVariable } = provider;
  return `${provider.type} at ${at}, ${apiKeyVariable === undefined ? 'without a key' : `with the key in ${apiKeyVariable} of each worker`}`;
}
