import { wantsHelp } from '@sluice/config';
import { FatalError } from '@sluice/runtime';
import { describeConflict } from '@sluice/tenants';
import { badUsage, parseFlags } from '../command-flags.ts';
import { loadWithRedis, serviceFlags, serviceFlagsUsage } from '../load-with-redis.ts';
import type { Surroundings } from '../service-sources.ts';
import { orExplain } from './explain-refusal.ts';
import {
  describeKeyFlags,
  graceIn,
  keyFlagOptions,
  limitFlagOptions,
  wantedKey,
  wantedLimits,
} from './key-flags.ts';
import { listKeys, tableOf } from './list-keys.ts';
import { makeKey } from './make-key.ts';
import { type OpenTenants, openTenants } from './open-tenants.ts';

/** How long the old key is taken after a rotation, unless the operator says otherwise. */
const defaultGrace = '24h';

function keysUsage(): string {
  return `Usage: sluice keys <command> [flags]

  create --tenant NAME   makes a key, stores its hash in Redis, and prints the key, once
  list                   shows the keys of the service: stored ones, and those of the settings file
  revoke ID              refuses a stored key from now on; \`revoke development\` does it to the development key
  rotate ID              makes a new key with the same settings; the old one is taken for --grace, and then expires
  limit NAME             changes the weight and the limits of a tenant, in all of its stored keys
  make                   prints a key and its hash for the settings file, and stores nothing; so does no command at all

Every api of the service follows a change within five seconds. Requests from before a key was revoked go on. The commands reach
Redis by REDIS_URL, by the settings file, or as the service does that runs with the data folder. Keys of the file are
changed in the file.

create:
${describeKeyFlags()}

limit:
  --weight and the limits, as for create; \`none\` takes one away, so that its default holds

rotate:
  --grace TIME  how long the old key is taken: 30m, 24h, 7d; 0 revokes it at once [${defaultGrace}]

  --json          prints a line of JSON, list one for each key
${serviceFlagsUsage}`;
}

const common = { json: { type: 'boolean' }, ...serviceFlags } as const;

/** `sluice keys …`: the API keys of a service. All but `make` need its Redis, and no running process. */
export async function runKeys(argv: readonly string[], place: Surroundings): Promise<void> {
  if (wantsHelp(argv)) return console.log(keysUsage());
  const [first] = argv;
  const isNamed = first !== undefined && !first.startsWith('-');
  const command = isNamed ? first : 'make';
  const rest = isNamed ? argv.slice(1) : argv;
  switch (command) {
    case 'make': {
      const { values, positionals } = parse(rest, { json: { type: 'boolean' } });
      const [positional] = positionals;
      if (positional !== undefined) throw badUsage('keys', `'${positional}' is one argument too many`);
      return makeKey(values['json'] === true);
    }
    case 'create':
      return orExplain(create(rest, place));
    case 'list':
      return orExplain(list(rest, place));
    case 'revoke':
      return orExplain(revoke(rest, place));
    case 'rotate':
      return orExplain(rotate(rest, place));
    case 'limit':
      return orExplain(limit(rest, place));
    default:
      throw badUsage('keys', `there is no command '${command}'`);
  }
}

async function create(argv: readonly string[], place: Surroundings): Promise<void> {
  const { values, positionals } = parse(argv, { ...common, ...keyFlagOptions });
  if (positionals[0] !== undefined) throw badUsage('keys', "'create' takes flags only");
  const wanted = wantedKey(values);
  if (wanted['name'] === undefined) throw badUsage('keys', '--tenant: is missing; name the tenant');
  await using opened = await open(values, place);
  const { hasDevelopmentKey } = await opened.tenants.read();
  const { id, plain, isSafe } = await opened.tenants.createKey(wanted);
  if (values['json'] === true) console.log(JSON.stringify({ id, key: plain }));
  else {
    console.log(`Key, for the client; it is not shown again:

  ${plain}

Its id is ${id}. Every api takes it within five seconds.`);
  }
  if (hasDevelopmentKey) {
    console.error(
      "sluice: the development key is still taken, as the service listens on this machine only; 'sluice keys revoke development' ends it",
    );
  }
  saySafety(isSafe);
}

async function list(argv: readonly string[], place: Surroundings): Promise<void> {
  const { values, positionals } = parse(argv, common);
  if (positionals[0] !== undefined) throw badUsage('keys', "'list' takes no key");
  await using opened = await open(values, place);
  const known = await opened.tenants.read();
  const keys = listKeys(known);
  if (values['json'] === true) for (const key of keys) console.log(JSON.stringify(key));
  else console.log(tableOf(keys));
  for (const { id, problem } of known.stored.unreadable) {
    console.error(`sluice: ${JSON.stringify(id)} cannot be read and is refused: ${problem}`);
  }
  for (const conflict of known.conflicts) {
    console.error(`sluice: ${conflict.id}: ${describeConflict(conflict)}`);
  }
}

async function revoke(argv: readonly string[], place: Surroundings): Promise<void> {
  const { values, positionals } = parse(argv, common);
  const id = oneId('revoke', positionals);
  await using opened = await open(values, place);
  const { key, isSafe } = await opened.tenants.revokeKey(id);
  if (values['json'] === true) {
    console.log(JSON.stringify({ id: key.id, tenant: key.name, revoked_at: key.revokedAt }));
  } else {
    console.log(
      `Revoked ${id} of '${key.name}' at ${key.revokedAt}. Every api refuses it within five seconds.`,
    );
  }
  saySafety(isSafe);
}

async function rotate(argv: readonly string[], place: Surroundings): Promise<void> {
  const { values, positionals } = parse(argv, { ...common, grace: { type: 'string' } });
  const id = oneId('rotate', positionals);
  const grace = typeof values['grace'] === 'string' ? values['grace'] : defaultGrace;
  const graceMs = graceIn(grace);
  await using opened = await open(values, place);
  const { id: newId, plain, tenant, oldUntil, isSafe } = await opened.tenants.rotateKey({ id, graceMs });
  if (values['json'] === true) {
    console.log(JSON.stringify({ id: newId, key: plain, replaces: id, old_until: oldUntil ?? null }));
  } else {
    const old =
      oldUntil === undefined
        ? `The old key ${id} is revoked. Every api refuses it within five seconds.`
        : `The old key ${id} is taken until ${oldUntil}. 'sluice keys revoke ${id}' ends it at once.`;
    console.log(`New key of '${tenant}', for the client; it is not shown again:

  ${plain}

Its id is ${newId}. Every api takes it within five seconds.
${old}`);
  }
  saySafety(isSafe);
}

async function limit(argv: readonly string[], place: Surroundings): Promise<void> {
  const { values, positionals } = parse(argv, { ...common, ...limitFlagOptions });
  const [name, more] = positionals;
  if (name === undefined) throw badUsage('keys', "'limit' needs the name of a tenant");
  if (more !== undefined) throw badUsage('keys', "'limit' takes one tenant");
  const wanted = wantedLimits(values);
  if (wanted === undefined) throw badUsage('keys', "'limit' needs what to change, such as --concurrent 8");
  await using opened = await open(values, place);
  const { keys, isSafe } = await opened.tenants.changeLimits({ name, ...wanted });
  if (values['json'] === true) console.log(JSON.stringify({ tenant: name, keys }));
  else if (keys === 0) console.log(`Every stored key of '${name}' says so already.`);
  else {
    const changed = keys === 1 ? 'the stored key' : `${keys} stored keys`;
    console.log(
      `Changed in ${changed} of '${name}'. Every api follows within five seconds; 'sluice tenants' shows it.`,
    );
  }
  saySafety(isSafe);
}

function parse(argv: readonly string[], options: Record<string, { type: 'string' | 'boolean' }>) {
  // `parseArgs` cannot know the names of these options; each value is looked at before it is used.
  const { values, positionals } = parseFlags('keys', argv, options);
  return { values: values as Record<string, unknown>, positionals };
}

function oneId(command: string, [id, more]: readonly string[]): string {
  if (id === undefined)
    throw badUsage('keys', `'${command}' needs the id of a key; 'sluice keys list' shows them`);
  if (more !== undefined) throw badUsage('keys', `'${command}' takes one id`);
  return id;
}

async function open(values: Record<string, unknown>, place: Surroundings): Promise<OpenTenants> {
  return openTenants(loadWithRedis(values, place));
}

function saySafety(isSafe: boolean): void {
  if (isSafe) return;
  throw new FatalError(
    'The change is made and in effect, but not yet as safe as `durability` asks for: a crash or a failover of Redis now may lose it. Look at Redis, and at `sluice keys list` after that.',
  );
}
