import { pause } from '@sluice/runtime';
import { samplesOf, type Sample, valueOf } from './prometheus-text.ts';
import { SaturationGate } from './saturation-gate.ts';

export interface SaturationSettings {
  /** Where the upstream tells its metrics, in Prometheus' text format. */
  metricsUrl: string;
  metric: string;
  /** How many may wait there before it gets no more. */
  most: number;
  /** How often it is read, and how long that may take. */
  everyMs: number;
  /** Sent with each request. */
  headers: Readonly<Record<string, string>>;
}

export interface SaturationWatchOptions {
  settings: SaturationSettings;
  /** For durations, in milliseconds. */
  now: () => number;
  /** Called when a reading fails for another reason than the one before, and when it does not fail any more. */
  onFault: (fault: string | undefined) => void;
  /** Called when a model gets no more calls, and when it gets calls again. */
  onChange: (change: { upstreamModel: string; isSaturated: boolean; waiting: number }) => void;
  /** Called after each reading: whether a model of the upstream gets no calls. */
  onReading: (isSaturated: boolean) => void;
}

/** Longest page that is read, in bytes. That of vLLM has some hundred kilobytes. */
const largestPageBytes = 4 * 1024 * 1024;

/** A reading may be a little late, in milliseconds. */
const slackMs = 100;

/**
 * Reads an upstream's own queue at an interval and opens or closes a gate for each of its models. While it cannot be read,
 * every gate is open.
 */
export class SaturationWatch {
  readonly #options: SaturationWatchOptions;
  /** By the upstream's name of the model. */
  readonly #gates = new Map<string, SaturationGate>();
  #nextAt = Number.NEGATIVE_INFINITY;
  #fault: string | undefined;
  /** The models that get no calls since the last reading. */
  readonly #closed = new Set<string>();
  #running: { over: Promise<void>; stopping: AbortController } | undefined;

  constructor(options: SaturationWatchOptions) {
    this.#options = options;
  }

  /** The gate of a model. One that was not known yet is open until the next reading. */
  gate(model: string): SaturationGate {
    const known = this.#gates.get(model);
    if (known) return known;
    const gate = new SaturationGate(this.#options.settings);
    this.#gates.set(model, gate);
    return gate;
  }

  /** Until the next reading, in milliseconds. */
  get nextMs(): number {
    return Math.max(0, this.#nextAt - this.#options.now()) + slackMs;
  }

  /** Why the last reading failed; undefined when it did not. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** Reads from now on, also after it was stopped. */
  start(): void {
    if (this.#running) return;
    const stopping = new AbortController();
    this.#running = { over: this.#run(stopping.signal), stopping };
  }

  /** Resolves when nothing is read any more. Every gate is open then. */
  async stop(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    running?.stopping.abort();
    this.#fault = undefined;
    for (const [model, gate] of this.#gates) {
      gate.read(undefined);
      this.#setClosed(model, gate);
    }
    await running?.over;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { settings, now, onReading } = this.#options;
    while (!signal.aborted) {
      this.#nextAt = now() + settings.everyMs;
      const samples = await this.#read(signal);
      if (signal.aborted) return;
      this.#setFault(typeof samples === 'string' ? samples : undefined);
      for (const [model, gate] of this.#gates) {
        gate.read(typeof samples === 'string' ? undefined : valueOf(samples, model));
        this.#setClosed(model, gate);
      }
      onReading(this.#closed.size > 0);
      await pause(Math.max(0, this.#nextAt - now()), signal);
    }
  }

  #setFault(fault: string | undefined): void {
    if (fault === this.#fault) return;
    this.#fault = fault;
    this.#options.onFault(fault);
  }

  #setClosed(upstreamModel: string, { isClosed: isSaturated, value: waiting = 0 }: SaturationGate): void {
    if (isSaturated === this.#closed.has(upstreamModel)) return;
    this.#closed[isSaturated ? 'add' : 'delete'](upstreamModel);
    this.#options.onChange({ upstreamModel, isSaturated, waiting });
  }

  /** Reads the samples of the metric; a sentence if that fails. */
  async #read(stopped: AbortSignal): Promise<Sample[] | string> {
    const { metricsUrl, metric, everyMs, headers } = this.#options.settings;
    const signal = AbortSignal.any([stopped, AbortSignal.timeout(everyMs)]);
    try {
      // A redirect could lead anywhere.
      const answer = await fetch(metricsUrl, { headers, redirect: 'error', signal });
      if (!answer.ok) {
        await answer.body?.cancel();
        return `answered with status ${answer.status}`;
      }
      const page = await textOf(answer);
      if (page === undefined) return `answered with more than ${largestPageBytes} bytes`;
      const samples = samplesOf(page, metric);
      return samples.length === 0 ? `has no metric ${metric}` : samples;
    } catch {
      return signal.aborted ? `did not answer within ${everyMs} ms` : 'could not be reached';
    }
  }
}

/** The text of an answer; undefined when it is too large. */
async function textOf(answer: Response): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const piece of answer.body ?? []) {
    bytes += piece.byteLength;
    if (bytes > largestPageBytes) return undefined;
    text += decoder.decode(piece, { stream: true });
  }
  return text;
}
