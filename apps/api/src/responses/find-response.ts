import { type ErrorCode, isKeptAfterEnd, isResponseId, isTerminal, ServiceError } from '@sluice/contract';
import { type CallerStores, lastNumberOf, type ResponseRecord } from '@sluice/response-store';
import { type Answer, answerOf } from './answer.ts';
import type { Caller } from './caller.ts';
import { notDurable, responseNotFound } from './refusals.ts';

/** Finds responses of a tenant, and what is told of them. */
export class ResponseFinder {
  readonly #store: CallerStores;

  constructor(store: CallerStores) {
    this.#store = store;
  }

  /** The answer of a record, whose end is told when it is durable. */
  async answerOf(record: ResponseRecord, hold: Caller['hold']): Promise<Answer> {
    if (isTerminal(record.status) && !(await this.#store.isDurable(record.id))) throw notDurable();
    return answerOf(this.#store, record, hold);
  }

  /** The number of the last event there is. Those of a long answer that was not streamed are counted, and not made. */
  async lastNumberOf(record: ResponseRecord, { hold }: Pick<Caller, 'hold'>): Promise<number> {
    const { id, streams, longEndBytes: bytes } = record;
    if (streams || bytes === 0) return lastNumberOf(record);
    const open = await this.#store.openEnd(id, { bytes, hold });
    if (!open) throw responseNotFound();
    try {
      return lastNumberOf(record, open.end);
    } finally {
      open.close();
    }
  }

  /** The same, with its events. */
  async findWithEvents(tenant: string, responseId: string, expiredAs: ErrorCode): Promise<ResponseRecord> {
    const record = await this.find(tenant, responseId);
    if (record.streams && isTerminal(record.status) && !(await this.#store.hasLog(responseId))) {
      throw new ServiceError(expiredAs);
    }
    return record;
  }

  /**
   * A response of this tenant that has not expired, and has not ended if it was never to be kept. Of a large request its record has
   * the short members alone: nobody has made room for the others yet.
   */
  async find(tenant: string, responseId: string): Promise<ResponseRecord> {
    const record = await this.findIfThere(tenant, responseId);
    if (!record) throw responseNotFound();
    return record;
  }

  /** The same; undefined when there is none. */
  async findIfThere(tenant: string, responseId: string): Promise<ResponseRecord | undefined> {
    const record = isResponseId(responseId) ? await this.#store.readShort(responseId) : undefined;
    if (record?.tenant !== tenant) return undefined;
    return isTerminal(record.status) && !isKeptAfterEnd(record.request) ? undefined : record;
  }
}
