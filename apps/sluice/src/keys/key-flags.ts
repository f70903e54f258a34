import { budgetNames, describeLimit, limitNames, tenantLimits } from '@sluice/contract/tenant-limits';
import { FatalError } from '@sluice/runtime';
import type { RuleProblem } from '@sluice/tenants';
import { badUsage } from '../command-flags.ts';

/** The flags of `sluice keys create`, and the members of a key that they give. */
const flags: readonly { flag: string; path: readonly string[]; value: string; text: string }[] = [
  {
    flag: 'tenant',
    path: ['name'],
    value: 'NAME',
    text: 'Whose key it is. Keys of one tenant share its limits.',
  },
  { flag: 'models', path: ['models'], value: 'A,B', text: 'Models that it may use. Default: all of them.' },
  { flag: 'tiers', path: ['tiers'], value: 'A,B', text: 'Service tiers that it may ask for [default,flex].' },
  { flag: 'weight', path: ['weight'], value: 'N', text: "The tenant's share of a busy model [1]." },
  ...limitNames.map((name) => ({
    flag: tenantLimits[name].wire.replaceAll('_', '-'),
    path: ['limits', name],
    value: 'N',
    text: describeLimit(tenantLimits[name]),
  })),
  ...budgetNames.map((name) => ({
    flag: `key-${tenantLimits[name].wire.replaceAll('_', '-')}`,
    path: ['budget', name],
    value: 'N',
    text: `The same of this key alone.`,
  })),
  {
    flag: 'expires',
    path: ['expiresAt'],
    value: 'DATE',
    text: 'When it expires: 2027-01-31, or 2027-01-31T12:00:00Z. Default: never.',
  },
];

/** For `parseFlags`. */
export const keyFlagOptions: Record<string, { type: 'string' }> = Object.fromEntries(
  flags.map(({ flag }) => [flag, { type: 'string' as const }]),
);

/** The flags as lines of text, for `--help`. */
export function describeKeyFlags(): string {
  const rows = flags.map(({ flag, value, text }) => [`--${flag} ${value}`, text] as const);
  const width = Math.max(...rows.map(([flag]) => flag.length));
  return rows.map(([flag, text]) => `  ${flag.padEnd(width)}  ${text}`).join('\n');
}

/** A key as the flags describe it, in the shape of `keys[]` in the file; not checked. */
export function wantedKey(
  values: Readonly<Record<string, unknown>>,
): Record<string, unknown> & { limits: Record<string, unknown> } {
  const wanted: Record<string, unknown> = {};
  const ofMember: Record<string, Record<string, unknown>> = { limits: {} };
  for (const { flag, path, value: form } of flags) {
    const text = values[flag];
    const [member = '', limit] = path;
    if (typeof text !== 'string') continue;
    if (limit !== undefined) (ofMember[member] ??= {})[limit] = numberIn(text);
    else if (form === 'N') wanted[member] = numberIn(text);
    else wanted[member] = form === 'A,B' ? text.split(',').map((part) => part.trim()) : text;
  }
  return { ...wanted, ...ofMember, limits: ofMember['limits'] ?? {} };
}

const limitFlags = flags.filter(({ path: [member] }) => member === 'weight' || member === 'limits');

/** For `parseFlags`: the flags for the tenant, not for one key. */
export const limitFlagOptions: Record<string, { type: 'string' }> = Object.fromEntries(
  limitFlags.map(({ flag }) => [flag, { type: 'string' as const }]),
);

/** The weight and the limits as the flags describe them, where `none` takes one away; undefined without such a flag. */
export function wantedLimits(
  values: Readonly<Record<string, unknown>>,
): { weight?: unknown; limits: Record<string, unknown> } | undefined {
  const given = limitFlags.filter(({ flag }) => typeof values[flag] === 'string');
  if (given.length === 0) return undefined;
  const { weight, limits } = wantedKey(Object.fromEntries(given.map(({ flag }) => [flag, values[flag]])));
  const orNull = (value: unknown) => (value === 'none' ? null : value);
  return {
    ...(weight !== undefined && { weight: orNull(weight) }),
    limits: Object.fromEntries(Object.entries(limits).map(([limit, value]) => [limit, orNull(value)])),
  };
}

/** The error for an invalid key: each problem with the flag to change. */
export function refuseRules(problems: readonly RuleProblem[]): FatalError {
  const lines = problems.map(({ path, message }) => {
    const known = flags.find((each) => each.path.every((part, at) => part === path[at]));
    return `${known === undefined ? path.map(String).join('.') : `--${known.flag}`}: ${message}`;
  });
  if (lines.length === 1) return badUsage('keys', lines[0] ?? '');
  return new FatalError(`${lines.length} problems:\n${lines.map((line) => `  ${line}`).join('\n')}`, {
    exitCode: 2,
  });
}

const units: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const longestGraceDays = 365;

/** Reads `--grace`, in milliseconds. */
export function graceIn(text: string): number {
  const [, count = '', unit = ''] = /^(\d{1,9})([smhd])$/.exec(text === '0' ? '0s' : text) ?? [];
  const ms = Number(count) * (units[unit] ?? Number.NaN);
  if (count !== '' && ms <= longestGraceDays * (units['d'] ?? 0)) return ms;
  throw badUsage(
    'keys',
    `--grace: must be a time such as 30m, 24h or 7d, up to ${longestGraceDays}d, or 0 for none`,
  );
}

/** A number where the text is one. Other text is left for the schema to refuse. */
function numberIn(text: string): unknown {
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}
