import { parseArgs } from 'node:util';

/** The parts of the suite, in the order in which they run. */
export const parts = [
  'matrix',
  'cells',
  'mutants',
  'corpus',
  'hostile',
  'mix',
  'outage',
  'events',
  'batch',
  'soak',
] as const;
export type Part = (typeof parts)[number];

/** Tries of each cell of the matrix, requests of the corpus, minutes of the mix, the outage and the soak, events, lines of the batch. */
export const sizes = {
  small: {
    tries: 4,
    requests: 10_000,
    events: 50_000,
    lines: 2_000,
    mixMinutes: 1,
    outageMinutes: 1,
    soakMinutes: 10,
  },
  medium: {
    tries: 20,
    requests: 20_000,
    events: 1_000_000,
    lines: 20_000,
    mixMinutes: 10,
    outageMinutes: 10,
    soakMinutes: 10,
  },
  large: {
    tries: 100,
    requests: 100_000,
    events: 10_000_000,
    lines: 50_000,
    mixMinutes: 60,
    outageMinutes: 10,
    soakMinutes: 60,
  },
} as const;

export interface FaultsOptions {
  parts: readonly Part[];
  seed: number;
  /** What the page calls the size of the run. */
  size: string;
  tries: number;
  requests: number;
  events: number;
  lines: number;
  mixMinutes: number;
  outageMinutes: number;
  soakMinutes: number;
  /** Cells of the matrix, mutants, or hostile loads, whose name contains this. */
  only: string | undefined;
  /** The file of the page. Undefined: the page is printed. */
  output: string | undefined;
  /** Whether only the sections that ran are written into the page that is there. */
  renews: boolean;
  build: boolean;
}

export const usage = `Usage: npm run test:faults -- [flags]

  --seed N            the same faults at the same moments; the page and every failure name it
  --size SIZE         small (default), medium or large
  --tries N           responses in each cell of the matrix
  --minutes N         how long the mix, the outage and the soak take, each
  --count N           events that readers see, and lines of the batch
  --only TEXT         cells whose name contains the text; without a part flag, the matrix alone; prints its page
  --matrix --cells --mutants --corpus --hostile --mix --outage --events --batch --soak
                      these parts alone; prints the page. Without a flag: all but the soak, and the page is written
  --all               every part, and the page is written
  --output FILE       write the page there
  --renew             write the sections of these parts into the page, and leave the others
  --no-build          test the apps as they were built before`;

/**
 * Reads the flags. Only a run of the whole matrix writes the page of the repository.
 *
 * @throws {TypeError} for a flag that does not exist, and {RangeError} for a value that is not one of its values.
 */
export function parseCommandLine(argv: readonly string[], page: string): FaultsOptions | 'help' {
  const { values } = parseArgs({
    args: [...argv],
    allowNegative: true,
    options: {
      seed: { type: 'string' },
      size: { type: 'string', default: 'small' },
      tries: { type: 'string' },
      minutes: { type: 'string' },
      count: { type: 'string' },
      only: { type: 'string' },
      matrix: { type: 'boolean', default: false },
      cells: { type: 'boolean', default: false },
      mutants: { type: 'boolean', default: false },
      corpus: { type: 'boolean', default: false },
      hostile: { type: 'boolean', default: false },
      mix: { type: 'boolean', default: false },
      outage: { type: 'boolean', default: false },
      events: { type: 'boolean', default: false },
      batch: { type: 'boolean', default: false },
      soak: { type: 'boolean', default: false },
      all: { type: 'boolean', default: false },
      output: { type: 'string' },
      renew: { type: 'boolean', default: false },
      build: { type: 'boolean', default: true },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  const { size, only } = values;
  if (!isSize(size))
    throw new RangeError(`--size must be one of ${Object.keys(sizes).join(', ')}, not '${size}'`);
  const defaults = sizes[size];
  const named = parts.filter((part) => values[part]);
  const minutes = positive('--minutes', values.minutes);
  const count = positive('--count', values.count);
  const tries = positive('--tries', values.tries);
  const isWhole = named.length === 0 && only === undefined;
  return {
    parts: partsOf(values.all, named, only),
    seed: positive('--seed', values.seed) ?? Date.now() % 1_000_000,
    size: tries === undefined ? size : `${size}, ${tries} tries in each cell`,
    tries: tries ?? defaults.tries,
    requests: defaults.requests,
    events: count ?? defaults.events,
    lines: count ?? defaults.lines,
    mixMinutes: minutes ?? defaults.mixMinutes,
    outageMinutes: minutes ?? defaults.outageMinutes,
    soakMinutes: minutes ?? defaults.soakMinutes,
    only,
    output: values.output ?? (isWhole || values.all || values.renew ? page : undefined),
    renews: values.renew,
    build: values.build,
  };
}

function partsOf(all: boolean, named: readonly Part[], only: string | undefined): readonly Part[] {
  if (all) return parts;
  if (named.length > 0) return named;
  return only === undefined ? parts.filter((part) => part !== 'soak') : ['matrix'];
}

function isSize(size: string): size is keyof typeof sizes {
  return Object.hasOwn(sizes, size);
}

function positive(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!(value > 0)) throw new RangeError(`${flag} must be a number above 0, not '${text}'`);
  return value;
}
