import type { KeySettings } from '@sluice/config';
import { isResponseId, isTerminal, outputText, ServiceError, type Status } from '@sluice/contract';
import type { Act, CancelledResponse, ResponseDetail, Retried, StartAct } from '@sluice/contract/admin';
import type { ResponseQueues } from '@sluice/queue';
import { bytesOf, type CallerStores, type ResponseRecord, responseOf } from '@sluice/response-store';
import type { LiveSettings } from '@sluice/tenants';
import type { BulkActs } from '../acts/bulk-acts.ts';
import type { Asker, Audit } from '../audit/audit.ts';
import { cancelQueued } from './cancel-queued.ts';
import { findResponse, responseNotFound } from './find-response.ts';
import { type MatchingResponses, workOnMatching } from './matching-responses.ts';
import { type MemoryBudget, type MemoryShare, operators } from './memory-budget.ts';
import { type DetailSources, responseDetail } from './response-detail.ts';
import type { ResponseTails, Tail, TailRequest } from './response-tails.ts';

export interface OperatorResponsesOptions extends Omit<DetailSources, 'store'> {
  store: DetailSources['store'] &
    Pick<
      CallerStores,
      | 'read'
      | 'readWhole'
      | 'readShort'
      | 'previousOf'
      | 'locateInput'
      | 'readItemPart'
      | 'cancel'
      | 'endIfQueued'
    >;
  queue: Pick<ResponseQueues, 'remove'>;
  live: Pick<LiveSettings, 'keys'>;
  bodyBudget: MemoryBudget;
  /**
   * Ends a response as its tenant could, and waits for that for some seconds. Resolves with its status then; undefined when there
   * is none to be found.
   */
  endResponse: (responseId: string) => Promise<Status | undefined>;
  /** Accepts a request again, in the background, by the rules of a key. Resolves with the id of the new response. */
  createAgain: (key: KeySettings, request: RequestAgain) => Promise<string>;
  /** Told of each response that was created again. */
  onRetried: (retried: { responseId: string; copyId: string }) => void;
  audit: Pick<Audit, 'perform'>;
  acts: Pick<BulkActs, 'start'>;
  tails: Pick<ResponseTails, 'open' | 'requireRoom'>;
  /** Finds the responses for an act on many. */
  matching: MatchingResponses;
}

/** A request that was accepted before. */
export interface RequestAgain {
  body: Buffer<ArrayBuffer>;
  /** The response that it continues from, as the store has it; the body may name one that a WebSocket alone knew. */
  previousId: string | undefined;
  /** The memory that is held for it, which grows with the items that it refers to. */
  memory: MemoryShare;
}

/** Copies of an answer in memory: its text and its items are both shown, from text, an object and the JSON of both. */
const endFactor = 4;

/** Acts of operators on responses of any tenant. Each that changes something, or shows content, is in the audit log. */
export class OperatorResponses {
  readonly #options: OperatorResponsesOptions;

  constructor(options: OperatorResponsesOptions) {
    this.#options = options;
  }

  /** Cancels a response as its tenant could, and waits for its end for some seconds. One that has ended stays as it is. */
  cancel(responseId: string, asker: Asker): Promise<CancelledResponse> {
    return this.#options.audit.perform(
      { action: 'response.cancel', target: responseId, ...asker },
      async () => {
        const status = isResponseId(responseId) ? await this.#options.endResponse(responseId) : undefined;
        if (!status) throw responseNotFound();
        return { object: 'cancelled' as const, id: responseId, status };
      },
      ({ status }) => status,
    );
  }

  /**
   * Creates a response with the request of one that has ended: in the background and stored, for the same tenant, through the
   * accept that its own requests go through. The limits of the tenant hold for it as well.
   *
   * @throws {ServiceError} `not_retryable` for one that has not ended, or whose tenant has no key any more.
   */
  retry(responseId: string, asker: Asker): Promise<Retried> {
    return this.#options.audit.perform(
      { action: 'response.retry', target: responseId, ...asker },
      async () => {
        const id = await this.#retry(responseId);
        return { object: 'retried' as const, id, retry_of: responseId };
      },
      ({ id }) => id,
    );
  }

  /**
   * The request and the answer of a response: the JSON of a `ResponseContent`. Memory for it is held until the returned function
   * is called.
   */
  content(responseId: string, asker: Asker): Promise<{ json: Buffer; free: () => void }> {
    return this.#options.audit.perform(
      { action: 'response.reveal', target: responseId, ...asker },
      () => this.#content(responseId),
      () => 'content',
    );
  }

  /** Follows the events of a response; see `ResponseTails`. */
  async tail(request: TailRequest, asker: Asker): Promise<Tail> {
    const { tails, audit } = this.#options;
    tails.requireRoom();
    if (!request.withContent) return tails.open(request);
    return audit.perform(
      { action: 'response.reveal', target: request.responseId, ...asker },
      () => tails.open(request),
      () => 'events',
    );
  }

  /** One response without its content; see `responseDetail`. */
  detail(responseId: string): Promise<ResponseDetail> {
    return responseDetail(this.#options, responseId);
  }

  /**
   * Cancels or retries every response that matches a filter, and answers with the act at once.
   *
   * @throws {ServiceError} `more_than_expected` when more match than the operator has confirmed.
   */
  async actOnMatching(asked: StartAct, asker: Asker): Promise<Act> {
    const { acts, matching, now } = this.#options;
    if (!matching.isKept) {
      const message = 'Acting on many responses needs the journal, which this service does not keep.';
      throw new ServiceError('actions_off', message);
    }
    const act = { action: `responses.${asked.action}`, target: JSON.stringify(asked.filter), ...asker };
    return acts.start(act, () =>
      workOnMatching(asked, matching, {
        now: now(),
        cancel: (id) => this.#askToCancel(id),
        retry: (id) => this.#retry(id),
      }),
    );
  }

  /** Asks for the end of a response without waiting for it. False when there was nothing to cancel. */
  async #askToCancel(responseId: string): Promise<boolean> {
    if (!isResponseId(responseId)) return false;
    const kind = await cancelQueued(this.#options, responseId);
    if (kind !== 'begun') return kind === 'ended';
    return (await this.#options.store.cancel(responseId, 'requested')).kind === 'asked';
  }

  async #retry(responseId: string): Promise<string> {
    const { store, bodyBudget, createAgain, onRetried } = this.#options;
    const { tenant, status, largeRequestBytes } = await findResponse(store, responseId);
    if (!isTerminal(status)) {
      throw new ServiceError('not_retryable', 'This response has not ended; cancel it first, or wait.');
    }
    const key = this.#keyOf(tenant);
    const held = bodyBudget.open(tenant);
    try {
      const part = await store.locateInput(tenant, responseId);
      if (!part) throw responseNotFound();
      held.grow(part.bytes + largeRequestBytes);
      const [record, input, previousId] = await Promise.all([
        store.read(responseId),
        store.readItemPart(part),
        store.previousOf(responseId),
      ]);
      if (!record || input === undefined) throw responseNotFound();
      const copyId = await createAgain(key, { body: bodyOf(record, input), previousId, memory: held });
      onRetried({ responseId, copyId });
      return copyId;
    } finally {
      held.release();
    }
  }

  async #content(responseId: string): Promise<{ json: Buffer; free: () => void }> {
    const { store, bodyBudget } = this.#options;
    const { tenant, largeRequestBytes, longEndBytes } = await findResponse(store, responseId);
    const held = bodyBudget.open(operators);
    try {
      const part = await store.locateInput(tenant, responseId);
      if (!part) throw responseNotFound();
      // Each is there twice when the answer is put together.
      held.grow(2 * (part.bytes + largeRequestBytes) + endFactor * longEndBytes);
      const [record, input] = await Promise.all([store.readWhole(responseId), store.readItemPart(part)]);
      if (!record || input === undefined) throw responseNotFound();
      const { instructions, output } = responseOf(record);
      const head = `{"object":"response_content","instructions":${JSON.stringify(instructions)},"input":`;
      const tail = `,"output":${JSON.stringify(output)},"output_text":${JSON.stringify(outputText(output))}}`;
      const json = Buffer.concat([Buffer.from(head), bytesOf(input), Buffer.from(tail)]);
      return { json, free: () => held.release() };
    } catch (error) {
      held.release();
      throw error;
    }
  }

  /** The keys of a tenant together, as one key. */
  #keyOf(name: string): KeySettings {
    const { keys } = this.#options.live;
    const tenant = keys.tenant(name);
    if (tenant && tenant.models.length > 0) return { ...tenant, hash: '', disabled: false };
    if (!keys.isComplete)
      throw new ServiceError('server_is_overloaded', 'The stored keys are not known yet.');
    throw new ServiceError(
      'not_retryable',
      'The tenant of this response has no key any more, so nothing runs for it.',
    );
  }
}

/** A stored request as the body of a new one. Its input has no reference to other items left. */
function bodyOf({ request: stored }: ResponseRecord, input: string | Uint8Array): Buffer<ArrayBuffer> {
  const { stream: _stream, stream_options: _options, ...request } = stored;
  const rest = JSON.stringify({ ...request, background: true, store: true });
  // A buffer of its own, which may be given to a thread.
  const pieces = [Buffer.from('{"input":'), bytesOf(input), Buffer.from(`,${rest.slice(1)}`)];
  const body = Buffer.allocUnsafeSlow(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) at += piece.copy(body, at);
  return body;
}
