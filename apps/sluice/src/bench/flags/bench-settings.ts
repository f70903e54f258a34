import { randomInt } from 'node:crypto';
import type { Arrivals } from '../load/arrivals.ts';
import type { BenchValues } from './bench-flags.ts';
import type { Weighted } from '../load/deck.ts';
import { anyNumber, badFlag, duration, isDuration, mixOf, wholeNumber } from './flag-values.ts';
import { type BodyFlags, type Mode, modes } from '../load/request-bodies.ts';

/** When to stop sending: at whichever comes first. At least one of them is there. */
export interface Extent {
  requests?: number;
  durationMs?: number;
}

export type Load =
  | { kind: 'closed'; concurrency: number }
  | { kind: 'open'; rate: number; arrivals: Arrivals; mostOutstanding: number };

/** Where the input of the requests comes from. */
export type Input =
  | { kind: 'file'; path: string }
  | { kind: 'prompt'; text: string }
  | { kind: 'invented'; tokens: number };

/** The settings of a run, besides the address and the keys. */
export interface BenchSettings {
  /** Undefined: each body decides. */
  mix: Weighted<Mode>[] | undefined;
  input: Input;
  body: BodyFlags;
  headers: Record<string, string>;
  load: Load;
  extent: Extent;
  warmup: Extent | undefined;
  timeoutMs: number;
  retries: number;
  pollIntervalMs: number;
  seed: number;
  json: boolean;
}

/** Requests under way at a time. Each has a connection. */
const mostAtOnce = 50_000;
const mostRequests = 1_000_000_000;
const minute = 60_000;
const hour = 60 * minute;

/** @throws {FatalError} with exit code 2 that names the flag and says what to change. */
export function readBenchSettings(values: BenchValues): BenchSettings {
  const requests = wholeNumber('requests', values.requests, { least: 1, most: mostRequests });
  const durationMs = duration('duration', values.duration, { leastMs: 1, mostMs: 24 * hour });
  const input = readInput(values);
  const mix = mixOf('mode', values.mode, modes);
  return {
    mix: mix ?? (input.kind === 'file' ? undefined : [{ value: 'stream', weight: 1 }]),
    input,
    body: {
      model: filled('model', values.model),
      maxOutputTokens: wholeNumber('max-output-tokens', values['max-output-tokens'], {
        least: 1,
        most: 10_000_000,
      }),
      serviceTier: filled('service-tier', values['service-tier']),
    },
    headers: readHeaders(values.header ?? []),
    load: readLoad(values),
    extent: {
      ...(requests !== undefined && { requests }),
      ...(durationMs !== undefined && { durationMs }),
      ...(requests === undefined && durationMs === undefined && { requests: 100 }),
    },
    warmup: readWarmup(values.warmup),
    timeoutMs: duration('timeout', values.timeout, { leastMs: 1, mostMs: hour }) ?? 10 * minute,
    retries: wholeNumber('retry', values.retry, { least: 0, most: 100 }) ?? 0,
    pollIntervalMs:
      duration('poll-interval', values['poll-interval'], { leastMs: 10, mostMs: minute }) ?? 1000,
    seed: wholeNumber('seed', values.seed, { least: 0, most: 999_999_999 }) ?? randomInt(1_000_000_000),
    json: values.json ?? false,
  };
}

function readInput(values: BenchValues): Input {
  const { input, prompt, 'input-tokens': tokens } = values;
  if (input !== undefined && prompt !== undefined)
    throw badFlag('prompt', '--input has the input already; leave one of them away');
  if (tokens !== undefined && (input ?? prompt) !== undefined)
    throw badFlag(
      'input-tokens',
      `--${input === undefined ? 'prompt' : 'input'} has the input already; leave one of them away`,
    );
  if (input !== undefined) return { kind: 'file', path: filled('input', input) ?? '' };
  if (prompt !== undefined) return { kind: 'prompt', text: filled('prompt', prompt) ?? '' };
  return {
    kind: 'invented',
    tokens: wholeNumber('input-tokens', tokens, { least: 1, most: 10_000_000 }) ?? 100,
  };
}

function readLoad(values: BenchValues): Load {
  const { arrivals = 'poisson', 'most-outstanding': outstanding } = values;
  const rate = anyNumber('rate', values.rate, { least: 0.001, most: 1_000_000 });
  const concurrency = wholeNumber('concurrency', values.concurrency, { least: 1, most: mostAtOnce });
  const mostOutstanding = wholeNumber('most-outstanding', outstanding, { least: 1, most: mostAtOnce });
  if (rate === undefined) {
    if (values.arrivals !== undefined) throw badFlag('arrivals', 'is for the open loop; give --rate, too');
    if (mostOutstanding !== undefined)
      throw badFlag('most-outstanding', 'is for the open loop; give --rate, too, or use --concurrency');
    return { kind: 'closed', concurrency: concurrency ?? 10 };
  }
  if (concurrency !== undefined)
    throw badFlag(
      'concurrency',
      'is for the closed loop and --rate for the open one; use --most-outstanding',
    );
  if (arrivals !== 'poisson' && arrivals !== 'constant')
    throw badFlag('arrivals', `'${arrivals}' is neither poisson nor constant`);
  return { kind: 'open', rate, arrivals, mostOutstanding: mostOutstanding ?? 10_000 };
}

function readWarmup(text: string | undefined): Extent | undefined {
  if (text === undefined || text === '0') return undefined;
  if (isDuration(text)) {
    const durationMs = duration('warmup', text, { leastMs: 1, mostMs: 24 * hour });
    return durationMs === undefined ? undefined : { durationMs };
  }
  if (!/^\d+$/.test(text))
    throw badFlag('warmup', `'${text}' is neither a number of requests nor a duration such as 10s`);
  const requests = wholeNumber('warmup', text, { least: 1, most: mostRequests });
  return requests === undefined ? undefined : { requests };
}

/** Headers of the tool itself, which another one of the same name would break. */
const ownHeaders = ['content-type', 'content-length', 'transfer-encoding', 'accept-encoding', 'connection'];

function readHeaders(lines: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    lines.map((line, at) => {
      const [, name = '', value = ''] = /^([\w!#$%&'*+.^`|~-]+):\s*([\x20-\x7e]+)$/.exec(line) ?? [];
      if (name === '') throw badFlag('header', `header ${at + 1} is not 'NAME: VALUE'`);
      if (ownHeaders.includes(name.toLowerCase())) throw badFlag('header', `'${name}' is set by the tool`);
      return [name.toLowerCase(), value];
    }),
  );
}

function filled(flag: string, text: string | undefined): string | undefined {
  if (text?.trim() === '') throw badFlag(flag, 'is empty; give a value');
  return text;
}
