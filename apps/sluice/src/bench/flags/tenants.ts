import type { Weighted } from '../load/deck.ts';
import { badFlag, mixOf } from './flag-values.ts';

/** A tenant that sends requests: its name in the report, and its key. */
export interface Tenant {
  name: string;
  /** Undefined for an endpoint that asks for none. */
  key: string | undefined;
}

/** Each tenant has figures of its own in memory. */
const mostTenants = 1000;

/** The flags that name the tenants. */
export interface TenantFlags {
  /** Each `KEY` or `NAME=KEY`. */
  keys: readonly string[];
  /** The text of the file of `--keys`, with one of these in each line. */
  file: string | undefined;
  /** The mix of `--tenants`. */
  mix: string | undefined;
}

/**
 * The tenants of a run, each with its share. Messages never repeat a key.
 *
 * @param fallback The key that is sent when the flags have none.
 */
export function readTenants(
  { keys, file, mix }: TenantFlags,
  fallback: string | undefined,
): Weighted<Tenant>[] {
  const fromFile = (file ?? '').split('\n').map((line) => line.trim());
  const tenants = [
    ...keys.map((text, at) => readTenant('key', text, at + 1)),
    ...fromFile.flatMap((line, at) =>
      line === '' || line.startsWith('#') ? [] : [readTenant('keys', line, at + 1)],
    ),
  ];
  if (file !== undefined && tenants.length === keys.length)
    throw badFlag('keys', 'the file has no key; write NAME=KEY into each line');
  if (tenants.length === 0) tenants.push({ name: 'key-1', key: fallback });
  if (tenants.length > mostTenants)
    throw badFlag('keys', `there are ${tenants.length} keys; ${mostTenants} is the most`);
  const names = tenants.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined)
    throw badFlag(
      keys.length > 0 ? 'key' : 'keys',
      `'${twice}' is there twice; give each key a name of its own`,
    );
  const weights = mixOf('tenants', mix, names);
  if (weights === undefined) return tenants.map((value) => ({ value, weight: 1 }));
  return weights.flatMap(({ value: name, weight }) =>
    tenants.filter((tenant) => tenant.name === name).map((value) => ({ value, weight })),
  );
}

function readTenant(flag: 'key' | 'keys', text: string, position: number): Tenant {
  const where = flag === 'keys' ? `line ${position}` : `key ${position}`;
  // A `=` at the end of a key is padding of its encoding.
  const [, name, key = text] = /^([\w.-]{1,64})=([^=].*)$/.exec(text) ?? [];
  if (!/^[\x21-\x7e]{1,4096}$/.test(key))
    throw badFlag(flag, `${where} is not NAME=KEY with a key of printable characters without spaces`);
  return { name: name ?? `key-${position}`, key };
}
