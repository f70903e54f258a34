import { randomBytes } from '@sluice/runtime';
import type { ModelSettings } from '@sluice/config';
import { type ListedItem, listedItem, newResponseId, responseIdSchema } from '@sluice/contract';
import { attach, hasLog, readRecord, readTurn, type Relay, type ResponseRecord } from '@sluice/event-log';
import { AcceptResponse } from './accept-response.ts';
import { BackgroundWork } from './background-work.ts';
import { EndResponse } from './end-response.ts';
import { ResolveReferences } from './resolve-references.ts';
import type { ServiceDependencies } from './service-dependencies.ts';

/** A page of a tenant's responses, newest first. */
export interface ResponsePage {
  records: ResponseRecord[];
  hasMore: boolean;
}

/** What the routes do with responses, in terms of neither HTTP nor Redis. */
export class ResponseService {
  readonly accepting: AcceptResponse;
  readonly ending: EndResponse;
  readonly #dependencies: ServiceDependencies;
  readonly #background: BackgroundWork;

  constructor(dependencies: ServiceDependencies) {
    this.#dependencies = dependencies;
    this.#background = new BackgroundWork(dependencies.logger);
    this.ending = new EndResponse(dependencies, this.#background);
    const references = new ResolveReferences(dependencies);
    const parts = { references, ending: this.ending, background: this.#background };
    this.accepting = new AcceptResponse(dependencies, parts);
  }

  get relay(): Relay {
    return this.#dependencies.relay;
  }

  newId(): string {
    return newResponseId(randomBytes);
  }

  models(): ModelSettings[] {
    return this.#dependencies.settings.models;
  }

  /**
   * A response of this tenant. Undefined for one that is unknown, foreign, expired, or has ended and was never to
   * be kept; nobody can tell which.
   */
  async find(responseId: string, tenant: string): Promise<ResponseRecord | undefined> {
    if (!responseIdSchema.safeParse(responseId).success) return undefined;
    const { redis, keys } = this.#dependencies;
    const record = await readRecord(redis, keys, responseId);
    if (record?.tenant !== tenant) return undefined;
    return record.request.store === false && record.end ? undefined : record;
  }

  /** Makes this process a caller of a response. Follow it in the relay first. */
  async attach(responseId: string): Promise<boolean> {
    const { redis, keys, apiProcess } = this.#dependencies;
    return attach(redis, keys, responseId, apiProcess);
  }

  /** Whether the events of a streamed response can still be read. */
  async hasEvents(record: ResponseRecord): Promise<boolean> {
    if (!record.streams || !record.end) return true;
    return hasLog(this.#dependencies.redis, this.#dependencies.keys, record.id);
  }

  /** The input of a response itself, without what it continued from. */
  async inputItems(responseId: string): Promise<ListedItem[]> {
    const turn = await readTurn(this.#dependencies.redis, this.#dependencies.keys, responseId);
    return (turn?.input ?? []).map((item, index) => listedItem(item, responseId, index));
  }

  /** Stored responses of a tenant, newest first, from the one behind `after` on. */
  async list(tenant: string, page: { after: string | undefined; limit: number }): Promise<ResponsePage> {
    const { redis, keys } = this.#dependencies;
    const rank = page.after === undefined ? -1 : await redis.zrevrank(keys.stored(tenant), page.after);
    const first = (rank ?? -1) + 1;
    const ids = await redis.zrevrange(keys.stored(tenant), first, first + page.limit);
    const records = await Promise.all(ids.slice(0, page.limit).map((id) => this.find(id, tenant)));
    return { records: records.filter((record) => record !== undefined), hasMore: ids.length > page.limit };
  }

  /** Waits for what was let run; what has no answer by then is left to the rescue. */
  async stop(): Promise<void> {
    await this.#background.stop();
  }
}
