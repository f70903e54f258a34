import type { ReadPace } from '@sluice/providers';
import type { OutputMeter } from './output-meter.ts';
import type { OutputShare } from './output-budget.ts';
import { chunksPerSlice, type TurnBudget } from './turn-budget.ts';

/** Characters of an upstream's stream that cost as much time as a chunk does. */
const charactersPerChunk = 4096;

/**
 * Paces the reading of an answer: a bounded amount in each turn of the event loop, whether or not it becomes output, and no
 * more than the memory of the process allows.
 */
export class UpstreamPace implements ReadPace {
  readonly #turns: TurnBudget;
  readonly #meter: OutputMeter;
  readonly #share: OutputShare;
  readonly #signal: AbortSignal;
  /** How much was read since the last turn, in chunks. */
  #taken = 0;

  constructor(parts: { turns: TurnBudget; meter: OutputMeter; share: OutputShare; signal: AbortSignal }) {
    this.#turns = parts.turns;
    this.#meter = parts.meter;
    this.#share = parts.share;
    this.#signal = parts.signal;
  }

  /** @throws {ProviderError} `upstream_error` for too many events without output. */
  took(characters: number, { hasOutput }: { hasOutput: boolean }): Promise<void> | undefined {
    if (!hasOutput) this.#meter.addSilent(characters);
    // Whatever its length, a chunk counts as one when it arrives.
    return this.#spend((hasOutput ? 0 : 1) + characters / charactersPerChunk);
  }

  readAhead(characters: number, { hasEvents }: { hasEvents: boolean }): Promise<void> | undefined {
    // A character may take two bytes.
    this.#share.readAhead = 2 * characters;
    if (!this.#share.mayGrow) return this.#share.room(this.#signal);
    return hasEvents ? undefined : this.#turns.next();
  }

  /** Counts a chunk. */
  tookChunk(): Promise<void> | undefined {
    return this.#spend(1);
  }

  #spend(chunks: number): Promise<void> | undefined {
    this.#taken += chunks;
    if (this.#taken < chunksPerSlice) return undefined;
    this.#taken = 0;
    return this.#turns.next();
  }
}
