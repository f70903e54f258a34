import type { KeySettings, LiveSettings } from '@sluice/config';
import {
  cancelled,
  isKeptAfterEnd,
  isTerminal,
  newRequestId,
  nothingProduced,
  outputText,
  responseIdSchema,
  ServiceError,
} from '@sluice/contract';
import type { CancelledResponse, Retried } from '@sluice/contract/admin';
import type { ResponseQueue } from '@sluice/queue';
import { bytesOf, type CallerStore, type ResponseRecord, responseOf } from '@sluice/response-store';
import { randomBytes } from '@sluice/runtime';
import type { BodyBudget } from '../../bodies/body-budget.ts';
import type { JsonReader } from '../../bodies/json-reader.ts';
import { holdWhenThereIsRoom } from '../../plugins/caller.ts';
import { CallerPresence } from '../../responses/caller.ts';
import { PendingRequest } from '../../responses/pending-request.ts';
import { responseNotFound } from '../../responses/refusals.ts';
import type { Responses } from '../../responses/responses.ts';

export interface OperatorResponsesOptions {
  store: Pick<
    CallerStore,
    | 'read'
    | 'readWhole'
    | 'readShort'
    | 'previousOf'
    | 'locateInput'
    | 'readItemPart'
    | 'cancel'
    | 'finishQueued'
  >;
  queue: Pick<ResponseQueue, 'remove'>;
  responses: Pick<Responses, 'cancelled' | 'create'>;
  live: Pick<LiveSettings, 'keys'>;
  json: Pick<JsonReader, 'prepare'>;
  bodyBudget: BodyBudget;
}

/** Memory that is held for operators counts against no tenant: none has this name. */
export const operators = '';

/** An answer is shown twice, as its items and as its text; it is there as text, as an object and as what is printed of it. */
const endFactor = 4;

/** What an operator does with responses of any tenant, as that tenant could. */
export class OperatorResponses {
  readonly #options: OperatorResponsesOptions;

  constructor(options: OperatorResponsesOptions) {
    this.#options = options;
  }

  /** Cancels a response as its tenant could, and waits for its end for some seconds. One that has ended stays as it is. */
  async cancel(responseId: string): Promise<CancelledResponse> {
    const { tenant } = await this.#find(responseId);
    const { status } = await this.#options.responses.cancelled(tenant, responseId);
    return { object: 'cancelled', id: responseId, status };
  }

  /** Asks for the end of a response without waiting for it. False when there was nothing to cancel. */
  async askToCancel(responseId: string): Promise<boolean> {
    const { store, queue } = this.#options;
    if (!isResponseId(responseId)) return false;
    const asked = await store.cancel(responseId, 'requested');
    if (asked.kind !== 'asked') return false;
    if (!asked.isQueued) return true;
    const record = await store.finishQueued(responseId, cancelled(nothingProduced));
    if (record) await queue.remove(record.queue, responseId);
    return true;
  }

  /**
   * Creates a response with the request of one that has ended: in the background and stored, for the same tenant, through the
   * accept that its own requests go through. What that refuses is refused here, by the limits of the tenant as well.
   *
   * @throws {ServiceError} `not_retryable` for one that has not ended, or whose tenant has no key any more.
   */
  async retry(responseId: string): Promise<Retried> {
    const { store, bodyBudget, json, responses } = this.#options;
    const { tenant, status, largeRequestBytes } = await this.#find(responseId);
    if (!isTerminal(status)) {
      throw new ServiceError('not_retryable', 'This response has not ended; cancel it first, or wait.');
    }
    const key = this.#keyOf(tenant);
    const presence = new CallerPresence();
    const memory = bodyBudget.open(tenant);
    try {
      const part = await store.locateInput(tenant, responseId);
      if (!part) throw responseNotFound();
      memory.grow(part.bytes + largeRequestBytes);
      const [record, input, previousId] = await Promise.all([
        store.read(responseId),
        store.readItemPart(part),
        store.previousOf(responseId),
      ]);
      if (!record || input === undefined) throw responseNotFound();
      // What it continued from is what the store says: a request over a WebSocket may name what was in its connection alone.
      const prepared = await json.prepare(bodyOf(record, input), { tenant, form: 'stored' });
      const created = await responses.create.inBackground(
        {
          key,
          requestId: newRequestId(randomBytes),
          presence,
          hold: (bytes, withinMs) => holdWhenThereIsRoom(bodyBudget, { tenant, bytes, presence, withinMs }),
          elapsedMs: () => 0,
        },
        {
          pending: new PendingRequest({ ...prepared, previousId }),
          idempotencyKey: undefined,
          reserve: (bytes) => memory.grow(bytes),
          onAccepted: () => undefined,
        },
      );
      if (created.kind === 'left') throw new Error('nobody can leave a retry');
      return { object: 'retried', id: created.answer.response.id, retry_of: responseId };
    } finally {
      memory.release();
    }
  }

  /**
   * What a response was asked and what it answered: the JSON of a `ResponseContent`. Memory for it is held until the returned
   * function is called.
   */
  async content(responseId: string): Promise<{ json: Buffer; free: () => void }> {
    const { store, bodyBudget } = this.#options;
    const { tenant, largeRequestBytes, longEndBytes } = await this.#find(responseId);
    const memory = bodyBudget.open(operators);
    try {
      const part = await store.locateInput(tenant, responseId);
      if (!part) throw responseNotFound();
      // Each is there twice when the answer is put together.
      memory.grow(2 * (part.bytes + largeRequestBytes) + endFactor * longEndBytes);
      const [record, input] = await Promise.all([store.readWhole(responseId), store.readItemPart(part)]);
      if (!record || input === undefined) throw responseNotFound();
      const { instructions, output } = responseOf(record);
      const head = `{"object":"response_content","instructions":${JSON.stringify(instructions)},"input":`;
      const tail = `,"output":${JSON.stringify(output)},"output_text":${JSON.stringify(outputText(output))}}`;
      const json = Buffer.concat([Buffer.from(head), bytesOf(input), Buffer.from(tail)]);
      return { json, free: () => memory.release() };
    } catch (error) {
      memory.release();
      throw error;
    }
  }

  /** A response of any tenant that has not expired, and has not ended if it was never to be kept. */
  async #find(responseId: string): Promise<ResponseRecord> {
    const record = isResponseId(responseId) ? await this.#options.store.readShort(responseId) : undefined;
    if (!record || (isTerminal(record.status) && !isKeptAfterEnd(record.request))) throw responseNotFound();
    return record;
  }

  /** What the keys of a tenant let it do together, as one key. */
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

function isResponseId(text: string): boolean {
  return responseIdSchema.safeParse(text).success;
}
