import { parseArgs } from 'node:util';
import { knownPeers } from './durable-peers/known-peers.ts';
import { knownGateways } from './gateways/known-gateways.ts';

export interface BenchOptions {
  /** Whether this is a short run, which shows that everything works. Its figures mean little. */
  quick: boolean;
  /** Names of the scenarios to run. Empty: all of them. */
  scenarios: string[];
  /** Names of what to compare with: gateways, and durable peers. Empty: all that are known. */
  rivals: string[];
  /** The root of another build, which is measured beside this one. */
  against: string | undefined;
  /** The file of the page. Undefined: the page is printed. */
  output: string | undefined;
  /** Whether sections of other scenarios stay in that file, or the whole of it is written. */
  keeps: 'sections and head' | 'sections' | 'nothing';
  /** Folder for CPU profiles of the api and the worker. Undefined: none are taken. */
  profile: string | undefined;
  /** Whether the apps are built first. */
  build: boolean;
  /** Whether costs are held against those of the last release, or noted as those of this one. */
  guard: 'hold' | 'renew' | 'none';
}

/** What `--with` names, by the scenario that compares with it. */
const rivalsOf = new Map<string, readonly string[]>([
  ['gateways', knownGateways.map(({ name }) => name)],
  ['durable-peers', knownPeers.map(({ name }) => name)],
]);

export const usage = `Usage: npm run bench -- [flags]

  --quick           a smoke run of two minutes; its page is printed, not written
  --scenario NAME   run only this one (may be repeated); the page is printed, not written
  --write           put the sections of these scenarios on the page, whose other sections stay
  --with NAMES      compare with these, which are installed for it: the gateways ${rivalsOf.get('gateways')?.join(',')}
                    and the durable peers ${rivalsOf.get('durable-peers')?.join(',')}
  --against DIR     compare with the build of another checkout, such as one of the last release
  --output FILE     write the page there
  --profile DIR     write CPU profiles of the api and the worker there; they cost throughput
  --renew-guard     note the costs of three runs as those of this release; else a run fails when one has risen by more
                    than 5 % over the last release, unless it is a quick one or has profiles
  --no-build        measure the apps as they were built before`;

/**
 * Reads the flags. A full run writes the page of the repository, and any other only when it is asked for with `--write`.
 *
 * @throws {TypeError} for a flag that does not exist.
 * @throws {RangeError} for a name after `--with` that is not known.
 */
export function parseCommandLine(argv: readonly string[], page: string): BenchOptions | 'help' {
  const { values } = parseArgs({
    args: [...argv],
    allowNegative: true,
    options: {
      quick: { type: 'boolean', default: false },
      scenario: { type: 'string', multiple: true, default: [] },
      with: { type: 'string' },
      against: { type: 'string' },
      output: { type: 'string' },
      write: { type: 'boolean', default: false },
      profile: { type: 'string' },
      'renew-guard': { type: 'boolean', default: false },
      build: { type: 'boolean', default: true },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  const rivals = values.with?.split(',') ?? [];
  const known = [...rivalsOf.values()].flat();
  const unknown = rivals.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new RangeError(`There is nothing called '${unknown}' to compare with: use ${known.join(', ')}.`);
  }
  const asked = [...rivalsOf].filter(([, names]) => names.some((name) => rivals.includes(name)));
  const scenarios = [
    ...values.scenario,
    ...asked.map(([scenario]) => scenario),
    ...(values.against === undefined ? [] : ['former-build']),
  ];
  const isTrue = !values.quick && values.profile === undefined; // figures of other runs mean little
  const meansMuch = (['renew-guard', 'write'] as const).find((flag) => values[flag]);
  if (meansMuch !== undefined && !isTrue) {
    throw new RangeError(`--${meansMuch} needs a run without --quick and --profile.`);
  }
  const isWhole = isTrue && scenarios.length === 0;
  const isOnPage = values.output === undefined && (isWhole || values.write);
  return {
    quick: values.quick,
    scenarios,
    rivals,
    against: values.against,
    output: values.output ?? (isOnPage ? page : undefined),
    keeps: !isOnPage ? 'nothing' : isWhole ? 'sections' : 'sections and head',
    profile: values.profile,
    build: values.build,
    guard: values['renew-guard'] ? 'renew' : isTrue ? 'hold' : 'none',
  };
}
