import { parseArgs } from 'node:util';

export interface BenchOptions {
  /** A short run that shows that everything works; its numbers mean little. */
  quick: boolean;
  /** Names of the scenarios to run; empty for all. */
  scenarios: string[];
  /** Where the page goes; undefined prints it. */
  output: string | undefined;
  /** Folder for CPU profiles of the api and the worker; undefined takes none. */
  profile: string | undefined;
  /** Whether the apps are built first. */
  build: boolean;
}

export const usage = `Usage: npm run bench -- [flags]

  --quick           a smoke run of less than a minute; its page is printed, not written
  --scenario NAME   run only this one (may be repeated); the page is printed, not written
  --output FILE     write the page there
  --profile DIR     write CPU profiles of the api and the worker there; they cost throughput
  --no-build        measure the apps as they were built before`;

/**
 * Reads the flags. The page of the repository is written by a full run alone, as it must hold every scenario.
 *
 * @throws {TypeError} for a flag that does not exist.
 */
export function parseCommandLine(argv: readonly string[], page: string): BenchOptions | 'help' {
  const { values } = parseArgs({
    args: [...argv],
    allowNegative: true,
    options: {
      quick: { type: 'boolean', default: false },
      scenario: { type: 'string', multiple: true, default: [] },
      output: { type: 'string' },
      profile: { type: 'string' },
      build: { type: 'boolean', default: true },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  const isWhole = !values.quick && values.scenario.length === 0 && values.profile === undefined;
  return {
    quick: values.quick,
    scenarios: values.scenario,
    output: values.output ?? (isWhole ? page : undefined),
    profile: values.profile,
    build: values.build,
  };
}
