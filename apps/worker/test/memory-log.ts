import { randomBytes } from 'node:crypto';
import { type ContentEvent, newResponseId, type ResponseEnd, type UnnumberedEvent } from '@sluice/contract';
import type {
  Claim,
  ClaimEnd,
  RunFacts,
  ClaimedRecord,
  FinishResult,
  LimitedBefore,
  ReleaseOptions,
  ResponseContext,
  WriterOptions,
} from '@sluice/response-store';
import type { AttemptWriter, ResponseLog } from '../src/response-log.ts';

/** The record of a response of which no attempt has begun. */
export function unclaimedRecord(members: Partial<ClaimedRecord>): ClaimedRecord {
  return {
    id: newResponseId(randomBytes),
    tenant: 'team',
    status: 'in_progress',
    request: { model: 'm' },
    largeRequestBytes: 0,
    serviceTier: 'default',
    queue: 'm',
    inputBytes: 0,
    inputTokens: 100,
    previousId: undefined,
    acceptedAt: 1_000,
    startedAt: 2_000,
    isEnqueued: true,
    mostOutputTokens: undefined,
    token: '',
    streams: false,
    sequenceNumber: 2,
    end: undefined,
    longEndBytes: 0,
    input: [],
    attempt: 0,
    claimedAt: 2_000,
    isFirstClaim: true,
    losses: 0,
    maxAttempts: 2,
    requestId: 'req_1',
    remainingMs: 60_000,
    ...members,
  };
}

/** One response in a log that lives in memory and keeps to the rules of the real one. */
export class MemoryLog implements ResponseLog {
  readonly id: string;
  readonly events: ContentEvent[] = [];
  readonly claims: Claim['kind'][] = [];
  /** How many of the next claims get no answer. */
  unanswered = 0;
  end: ResponseEnd | undefined;
  /** Tokens that the end brought without a usage. */
  uncounted: number | undefined;
  token = '';
  attempt = 0;
  losses = 0;
  /** What was said of its limits when it was given back. */
  limited: LimitedBefore | undefined;
  releases = 0;
  /** Whether the worker that gave the response back still hears of requests for its end. */
  isReachable = false;
  /** Whether its time to run is to begin with a later claim. */
  isUnbegun = false;
  /** Whether it was given back with output that a reader may have seen. */
  isShown = false;
  isCancelled = false;
  /** What the next claim answers in place of `run`. */
  nextClaim:
    | ClaimEnd
    | 'missing'
    | 'terminal'
    | 'held'
    | 'no_room'
    | 'overtaken'
    | 'unknown_version'
    | undefined;
  /** What the end comes to in place of `ok`. */
  endResult: FinishResult = 'ok';
  contextRead: ResponseContext = { kind: 'whole', items: [] };
  writerOptions: WriterOptions | undefined;
  /** A defect that the next write meets. */
  defect: Error | undefined;
  readonly #record: ClaimedRecord;
  #counted = '';

  constructor(record: ClaimedRecord) {
    this.#record = record;
    this.id = record.id;
  }

  claim(_responseId: string, token: string): Promise<Claim> {
    if (this.unanswered > 0) {
      this.unanswered -= 1;
      return Promise.reject(new Error('Connection is closed.'));
    }
    const claim = this.#claim(token);
    this.claims.push(claim.kind);
    return Promise.resolve(claim);
  }

  writer({ token }: ClaimedRecord, options: WriterOptions): AttemptWriter {
    this.writerOptions = options;
    const rejectWithDefect = () => (this.defect ? Promise.reject(this.defect) : undefined);
    return {
      isBehind: false,
      waitingCharacters: 0,
      flush: () => rejectWithDefect() ?? Promise.resolve(),
      write: (event: UnnumberedEvent) => {
        if (this.defect) options.onRefused('failed');
        if (this.defect || !this.#record.streams) return;
        if (token !== this.token || this.end) options.onRefused('superseded');
        else {
          this.events.push({ ...structuredClone(event), sequence_number: 3 + this.events.length });
          if (this.isCancelled) options.onRefused('cancelled');
        }
      },
      end: (end: ResponseEnd, { uncounted }: RunFacts = {}): Promise<FinishResult> => {
        const defect = rejectWithDefect();
        if (defect) return defect;
        if (this.end && token === this.token && end.status === this.end.status) return Promise.resolve('ok');
        if (this.end) return Promise.resolve('terminal');
        if (token !== this.token) return Promise.resolve('superseded');
        if (this.endResult === 'ok') this.end = structuredClone(end);
        this.uncounted = uncounted?.total_tokens;
        return Promise.resolve(this.endResult);
      },
    };
  }

  readContext(): Promise<ResponseContext> {
    return Promise.resolve(this.contextRead);
  }

  serverOf(): Promise<string | undefined> {
    return Promise.resolve(undefined);
  }

  readContentEvents(): Promise<ContentEvent[]> {
    return Promise.resolve(structuredClone(this.events));
  }

  release(
    { token }: { token: string },
    { isCounted, staysReachable = false, isUnbegun = false, isShown = false, limited }: ReleaseOptions,
  ): Promise<boolean> {
    if (token !== this.token || token === '') return Promise.resolve(false);
    this.token = '';
    if (!isCounted) this.attempt -= 1;
    this.releases += 1;
    this.limited = limited ?? this.limited;
    this.isReachable = staysReachable;
    this.isUnbegun = isUnbegun;
    this.isShown ||= isShown;
    return Promise.resolve(true);
  }

  checkLeases(held: readonly { token: string }[]) {
    return Promise.resolve(
      held.map(({ token }) => {
        if (token !== this.token || this.end) return 'superseded';
        return this.isCancelled ? 'cancelled' : 'ok';
      }),
    );
  }

  #claim(token: string): Claim {
    const isRepeated = this.#counted === token;
    const isVisible = this.#record.streams && this.events.length > 0;
    const isExhausted = this.attempt - (isRepeated ? 1 : 0) >= this.#record.maxAttempts;
    const kind =
      this.nextClaim ??
      (this.end
        ? 'terminal'
        : this.isCancelled
          ? 'cancelled'
          : isVisible
            ? 'broken_off'
            : isExhausted
              ? 'exhausted'
              : 'run');
    this.nextClaim = undefined;
    switch (kind) {
      case 'missing':
      case 'terminal':
        return { kind: 'nothing', because: kind };
      case 'held':
      case 'unknown_version':
        return { kind };
      case 'overtaken':
        return { kind, priority: 1 };
      case 'no_room':
        this.attempt += 1;
        this.token = token;
        return {
          kind,
          held: {
            id: this.id,
            token,
            tenant: this.#record.tenant,
            attempt: this.attempt,
            model: 'simulator',
            bytes: 1_000_000,
          },
        };
      case 'run':
        if (!isRepeated) this.attempt += 1;
        this.#counted = token;
        break;
      default:
    }
    this.token = token;
    const sequenceNumber = 2 + this.events.length;
    const record = {
      ...this.#record,
      token,
      sequenceNumber,
      attempt: this.attempt,
      losses: this.losses,
      limited: this.limited,
    };
    return kind === 'run' ? { kind, record } : { kind: 'end', because: kind, record };
  }
}
