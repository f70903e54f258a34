import type { FatalError } from '@sluice/runtime';
import { badUsage } from '../../command-flags.ts';
import type { Weighted } from '../load/deck.ts';

/** A flag of `bench` whose value cannot be used. */
export function badFlag(flag: string, problem: string): FatalError {
  return badUsage('bench', `--${flag}: ${problem}`);
}

/** Reads a number of a flag that has a form. Undefined when the flag is absent. */
const numberIn =
  (form: RegExp, what: string) =>
  (
    flag: string,
    text: string | undefined,
    { least, most }: { least: number; most: number },
  ): number | undefined => {
    if (text === undefined) return undefined;
    const value = form.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw badFlag(flag, `'${text}' is not ${what} from ${least} to ${most}`);
  };

export const wholeNumber = numberIn(/^\d{1,15}$/, 'a whole number');
/** One that may have a fraction. */
export const anyNumber = numberIn(/^\d{1,9}(?:\.\d{1,9})?$/, 'a number');

const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const;

/** Whether a value has the form of a duration. */
export function isDuration(text: string): boolean {
  return durationMs(text) !== undefined;
}

/** A duration of a flag, in milliseconds. Undefined when the flag is absent. */
export function duration(
  flag: string,
  text: string | undefined,
  { leastMs, mostMs }: { leastMs: number; mostMs: number },
): number | undefined {
  if (text === undefined) return undefined;
  const value = durationMs(text);
  if (value === undefined)
    throw badFlag(
      flag,
      `'${text}' is not a duration; give a number and its unit, such as 500ms, 30s, 5m or 1h`,
    );
  if (value < leastMs || value > mostMs)
    throw badFlag(flag, `'${text}' is not between ${written(leastMs)} and ${written(mostMs)}`);
  return value;
}

function durationMs(text: string): number | undefined {
  const match = /^(\d{1,9}(?:\.\d{1,6})?)(ms|s|m|h)$/.exec(text);
  if (!match) return undefined;
  // The pattern has both groups, and the second one has the names of the units alone.
  return Number(match[1]) * units[match[2] as keyof typeof units];
}

function written(ms: number): string {
  for (const unit of ['h', 'm', 's'] as const)
    if (ms % units[unit] === 0) return `${ms / units[unit]}${unit}`;
  return `${ms}ms`;
}

/** The largest sum of the weights of a flag, which is the size of a deck. */
const mostWeight = 10_000;

/**
 * A mix such as `whole=60,stream=30`. A name without a number has the weight 1; a name with the weight 0 is left out.
 * Undefined when the flag is absent.
 */
export function mixOf<Name extends string>(
  flag: string,
  text: string | undefined,
  names: readonly Name[],
): Weighted<Name>[] | undefined {
  if (text === undefined) return undefined;
  const mix: Weighted<Name>[] = [];
  for (const part of text.split(',').map((each) => each.trim())) {
    const [given = '', weightText = '1', ...rest] = part.split('=');
    const name = names.find((each) => each === given);
    if (name === undefined) throw badFlag(flag, `there is no '${given}': use ${listOf(names)}`);
    if (mix.some(({ value }) => value === name)) throw badFlag(flag, `'${name}' is there twice; keep one`);
    if (rest.length > 0 || !/^\d{1,5}$/.test(weightText))
      throw badFlag(flag, `'${part}' is not a name and a whole number, such as ${name}=60`);
    mix.push({ value: name, weight: Number(weightText) });
  }
  const sum = mix.reduce((total, { weight }) => total + weight, 0);
  if (sum === 0) throw badFlag(flag, 'all weights are 0; give one of them at least 1');
  if (sum > mostWeight) throw badFlag(flag, `the weights add up to ${sum}; ${mostWeight} is the most`);
  return mix.filter(({ weight }) => weight > 0);
}

function listOf(names: readonly string[]): string {
  const shown = names.slice(0, 10).map((name) => `'${name}'`);
  return names.length > 10 ? `${shown.join(', ')} or another of your tenants` : shown.join(', ');
}
