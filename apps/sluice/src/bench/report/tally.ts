import type { Failure } from '../exchange/failure.ts';
import { Histogram } from './histogram.ts';
import type { Outcome, Witness } from '../exchange/outcome.ts';

/** A failure and how often it happened. The message is that of the first one. */
export interface FailureCount extends Pick<Failure, 'kind' | 'status' | 'code' | 'message'> {
  count: number;
}

/** Different failures that are told apart. An endpoint may invent a code for each answer. */
const mostFailures = 100;

/** The counts of a group of requests. Its memory does not grow with their number. */
export class Tally implements Witness {
  answered = 0;
  failed = 0;
  /** Ended by a second Ctrl-C. */
  unfinished = 0;
  /** Due in an open loop while too many were outstanding. */
  notSent = 0;
  retries = 0;
  polls = 0;
  inputTokens = 0;
  outputTokens = 0;
  /** Answers with usage. */
  withUsage = 0;
  /** Events with a piece of output, of answered streams. */
  deltas = 0;
  limitedCount = 0;
  readonly latency = new Histogram();
  readonly timeToFirstToken = new Histogram();
  readonly timeBetweenTokens = new Histogram();
  readonly timeToAcceptance = new Histogram();
  readonly retryAfter = new Histogram();
  readonly #failures = new Map<string, FailureCount>();

  get failures(): FailureCount[] {
    return [...this.#failures.values()].toSorted((a, b) => b.count - a.count);
  }

  gap(gapMs: number): void {
    this.timeBetweenTokens.add(gapMs);
  }

  limited(retryAfterMs: number | undefined): void {
    this.limitedCount += 1;
    if (retryAfterMs !== undefined) this.retryAfter.add(retryAfterMs);
  }

  retried(): void {
    this.retries += 1;
  }

  polled(): void {
    this.polls += 1;
  }

  /** Counts the outcome of a request that began, or should have begun, at this time of `performance.now()`. */
  end(outcome: Outcome, begunAt: number): void {
    switch (outcome.kind) {
      case 'unfinished':
        this.unfinished += 1;
        return;
      case 'failed':
        this.failed += 1;
        this.#fail(outcome.failure);
        return;
      case 'answered':
        this.answered += 1;
        this.latency.add(outcome.endedAt - begunAt);
        this.deltas += outcome.deltas;
        if (outcome.firstDeltaAt !== undefined) this.timeToFirstToken.add(outcome.firstDeltaAt - begunAt);
        if (outcome.acceptedAt !== undefined) this.timeToAcceptance.add(outcome.acceptedAt - begunAt);
        if (outcome.tokens) {
          this.withUsage += 1;
          this.inputTokens += outcome.tokens.input;
          this.outputTokens += outcome.tokens.output;
        }
    }
  }

  #fail({ kind, status, code, message }: Failure): void {
    const name = `${kind} ${status ?? ''} ${code ?? ''}`;
    const known = this.#failures.get(name);
    if (known) known.count += 1;
    else if (this.#failures.size < mostFailures)
      this.#failures.set(name, {
        kind,
        ...(status !== undefined && { status }),
        ...(code !== undefined && { code }),
        message,
        count: 1,
      });
    else {
      const others = this.#failures.get('others') ?? { kind, message: 'others', code: 'others', count: 0 };
      this.#failures.set('others', { ...others, count: others.count + 1 });
    }
  }
}

/** Passes the events of a request to each group that it belongs to. */
export class Groups implements Witness {
  readonly #tallies: readonly Tally[];

  constructor(tallies: readonly Tally[]) {
    this.#tallies = tallies;
  }

  gap(gapMs: number): void {
    for (const tally of this.#tallies) tally.gap(gapMs);
  }

  limited(retryAfterMs: number | undefined): void {
    for (const tally of this.#tallies) tally.limited(retryAfterMs);
  }

  retried(): void {
    for (const tally of this.#tallies) tally.retried();
  }

  polled(): void {
    for (const tally of this.#tallies) tally.polled();
  }

  end(outcome: Outcome, begunAt: number): void {
    for (const tally of this.#tallies) tally.end(outcome, begunAt);
  }

  notSent(): void {
    for (const tally of this.#tallies) tally.notSent += 1;
  }
}

/** All counts of a run: in all, for each mode and for each tenant that has sent something. */
export class RunTally {
  readonly all = new Tally();
  readonly modes = new Map<string, Tally>();
  readonly tenants = new Map<string, Tally>();
  /** How late requests of an open loop were sent, because the tool was busy. */
  readonly lateness = new Histogram();

  groupsOf({ mode, tenant }: { mode: string; tenant: string }): Groups {
    return new Groups([this.all, tallyIn(this.modes, mode), tallyIn(this.tenants, tenant)]);
  }
}

function tallyIn(tallies: Map<string, Tally>, name: string): Tally {
  const known = tallies.get(name);
  if (known) return known;
  const made = new Tally();
  tallies.set(name, made);
  return made;
}
