import { isTerminalType } from '@sluice/contract';
import type { ServerEvent } from './exchange.ts';
import { failedResponse } from './failure.ts';
import { endOf, isObject, type ResponseEnd } from './response-end.ts';

/** The events of a stream so far. Times are those of `performance.now()`. */
export interface StreamFacts {
  /** Events with a piece of output: text, reasoning, refusals and arguments of calls. */
  deltas: number;
  firstDeltaAt: number | undefined;
  /** When the terminal event arrived, and the end that it states. */
  end: { at: number; what: ResponseEnd } | undefined;
  /** The content of an `error` event. It counts if no terminal event comes. */
  error: ResponseEnd | undefined;
}

/**
 * Reads the events of a stream. Deltas are timed and counted without being parsed, because parsing would make the tool the
 * bottleneck; only the terminal event is parsed.
 */
export class StreamReader {
  readonly facts: StreamFacts = { deltas: 0, firstDeltaAt: undefined, end: undefined, error: undefined };
  readonly #onGap: (gapMs: number) => void;
  #lastDeltaAt = 0;

  /** @param onGap Is told of the time between two deltas, in milliseconds. */
  constructor(onGap: (gapMs: number) => void) {
    this.#onGap = onGap;
  }

  /** Takes the next event. Returns whether more are wanted. */
  take({ event, data }: ServerEvent): boolean {
    if (data === '[DONE]') return false;
    const type = event ?? typeOf(data);
    if (type.endsWith('.delta')) this.#delta();
    else if (type === 'error') {
      const body = parsed(data);
      const what = failedResponse(isObject(body['error']) ? body['error'] : body, 'error');
      this.facts.error = { kind: 'failed', failure: what };
    } else if (isTerminalType(type) || type === 'response.cancelled') {
      this.facts.end = { at: performance.now(), what: endOf(parsed(data)['response']) };
      return false;
    }
    return true;
  }

  #delta(): void {
    const now = performance.now();
    if (this.facts.firstDeltaAt === undefined) this.facts.firstDeltaAt = now;
    else this.#onGap(now - this.#lastDeltaAt);
    this.#lastDeltaAt = now;
    this.facts.deltas += 1;
  }
}

function typeOf(data: string): string {
  const { type } = parsed(data);
  return typeof type === 'string' ? type : '';
}

function parsed(data: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(data);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}
