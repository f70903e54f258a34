import { parseArgs } from 'node:util';
import { type CrowdName, crowds } from './story/crowds.ts';

export interface CommandLine {
  /** The first seed, and how many: none by default where something else is asked for. */
  from: number;
  seeds: number;
  /** Begins no seed after so many minutes; undefined for as long as it takes. */
  minutes: number | undefined;
  /** A seed whose history is to be told. */
  replay: number | undefined;
  /** Files with scenarios. The history of one that is run by itself is told. */
  scenarios: string[];
  /** Crowds that are to come. */
  crowds: CrowdName[];
  /** Stops at the first seed that fails, and shortens nothing. */
  first: boolean;
  /** Runs the seeds and prints their digests. */
  digests: boolean;
}

export function readCommandLine(args: string[]): CommandLine {
  const { values } = parseArgs({
    args,
    options: {
      seeds: { type: 'string' },
      from: { type: 'string', default: '0' },
      minutes: { type: 'string' },
      replay: { type: 'string' },
      crowd: { type: 'string', multiple: true, default: [] },
      scenario: { type: 'string', multiple: true, default: [] },
      first: { type: 'boolean', default: false },
      digests: { type: 'boolean', default: false },
    },
  });
  const hasNothingElse = values.scenario.length + values.crowd.length === 0;
  return {
    from: wholeNumber('from', values.from),
    seeds: wholeNumber('seeds', values.seeds ?? (hasNothingElse ? '100' : '0')),
    minutes: values.minutes === undefined ? undefined : Number(values.minutes),
    replay: values.replay === undefined ? undefined : wholeNumber('replay', values.replay),
    scenarios: values.scenario,
    crowds: values.crowd.map(crowdNamed),
    first: values.first,
    digests: values.digests,
  };
}

function crowdNamed(name: string): CrowdName {
  if (name === 'shares' || name === 'minutes') return name;
  throw new Error(`--crowd is none of ${Object.keys(crowds).join(', ')}: '${name}'`);
}

function wholeNumber(name: string, text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 0) throw new Error(`--${name} is no whole number: '${text}'`);
  return number;
}
