import type { ModelSettings } from '@sluice/config';
import {
  type ErrorCode,
  isKeptAfterEnd,
  isTerminal,
  type Response,
  isResponseId,
  ServiceError,
  type Status,
} from '@sluice/contract';
import { type InputPage, type PickedPage, type ResponseRecord, responseOf } from '@sluice/response-store';
import { ResponseAcceptor } from './accept-response.ts';
import type { Answer } from './answer.ts';
import { Attachments } from './attachments.ts';
import { BackgroundWork } from './background-work.ts';
import type { Caller } from './caller.ts';
import { ResponseCreator } from './create-response.ts';
import type { ResponsesDependencies } from './dependencies.ts';
import { EarlyEnds } from './early-ends.ts';
import type { PresentationOptions } from './event-presentation.ts';
import { Compactor } from './compact-response.ts';
import { TokenCounter } from './count-tokens.ts';
import type { EventSink } from './event-sink.ts';
import { ResponseFinder } from './find-response.ts';
import { followResponse } from './follow-response.ts';
import { ModelDirectory } from './model-directory.ts';
import { withPosition } from './present-position.ts';
import { type QueuePosition, QueuePositions } from './queue-positions.ts';
import { notDurable, responseNotFound } from './refusals.ts';
import { type EventPage, readEventPage } from './read-event-page.ts';
import { RequestChecks } from './request-checks.ts';
import { ReferenceResolver } from './resolve-references.ts';
import { type Reserve, StoredItems } from './stored-items.ts';
import { UnansweredSteps } from './unanswered-steps.ts';

/** A page of a tenant's responses, newest first. */
export interface ResponsePage {
  responses: Response[];
  hasMore: boolean;
  /** Gives back the memory that is held for them and their answer; undefined when they are short. */
  free: (() => void) | undefined;
}

/** The last number that a reader has, -1 for none; `now` for whatever the last one is. */
export type EventCursor = number | 'now';

/** The operations of a tenant on its responses, in terms of neither HTTP nor Redis. */
export class Responses {
  readonly create: ResponseCreator;
  readonly tokens: TokenCounter;
  readonly compactor: Compactor;
  readonly #dependencies: ResponsesDependencies;
  readonly #background: BackgroundWork;
  readonly #ends: EarlyEnds;
  readonly #attachments: Attachments;
  readonly #items: StoredItems;
  readonly #positions: QueuePositions;
  /** The models that there are, and who may use them. */
  readonly directory: ModelDirectory;
  readonly #found: ResponseFinder;

  constructor(dependencies: ResponsesDependencies) {
    this.#dependencies = dependencies;
    this.#background = new BackgroundWork(dependencies.logger);
    const steps = new UnansweredSteps({ background: this.#background, logger: dependencies.logger });
    this.#ends = new EarlyEnds(dependencies, { background: this.#background, steps });
    this.#attachments = new Attachments(this.#ends);
    this.#items = new StoredItems(dependencies);
    this.#positions = new QueuePositions({
      ahead: (queue, responseId) => dependencies.queue.ahead(queue, responseId),
      departures: (queue) => dependencies.queue.departures(queue),
      now: () => performance.now(),
    });
    const references = new ReferenceResolver(dependencies, this.#items);
    const models = new ModelDirectory(() => dependencies.settings.models);
    this.directory = models;
    this.#found = new ResponseFinder(dependencies.store);
    this.tokens = new TokenCounter(dependencies, { models, references });
    const checks = new RequestChecks(dependencies, { models, references });
    const acceptor = new ResponseAcceptor(dependencies, {
      checks,
      ends: this.#ends,
      steps,
      background: this.#background,
      positions: this.#positions,
    });
    this.create = new ResponseCreator(dependencies, {
      acceptor,
      checks,
      attachments: this.#attachments,
      ends: this.#ends,
      positions: this.#positions,
    });
    this.compactor = new Compactor(dependencies, this.create);
  }

  /** The clock of the cell of a response, in milliseconds. */
  now(responseId: string): number {
    return this.#dependencies.now(responseId);
  }

  models(): ModelSettings[] {
    return this.#dependencies.settings.models;
  }

  /** The response as it stands, and where it stands in its queue as long as it waits there. */
  async retrieve({ key, hold }: Pick<Caller, 'key' | 'hold'>, responseId: string): Promise<Answer> {
    const record = await this.#found.find(key.name, responseId);
    if (record.status !== 'queued') return this.#found.answerOf(record, hold);
    const position = await this.#positions.ofIfKnown(record.queue, responseId);
    const answer = await this.#found.answerOf(record, hold);
    return { ...answer, response: withPosition(answer.response, position, this.now(responseId)) };
  }

  /** Where a response stands in a queue; undefined when it does not wait there, or nobody can tell. */
  positionOf(queue: string, responseId: string): Promise<QueuePosition | undefined> {
    return this.#positions.ofIfKnown(queue, responseId);
  }

  /** Sends the events of a response behind a cursor; `openSink` is called once it is certain that there are any. */
  async follow(
    caller: Caller,
    responseId: string,
    {
      cursor,
      expiredAs = 'stream_expired',
      ...following
    }: {
      cursor: EventCursor;
      presentation: PresentationOptions;
      openSink: (cursor: number) => EventSink;
      /** The error when the events are no longer kept. */
      expiredAs?: ErrorCode;
    },
  ): Promise<void> {
    const record = await this.#found.findWithEvents(caller.key.name, responseId, expiredAs);
    await followResponse({ ...this.#dependencies, positions: this.#positions }, this.#attachments, caller, {
      ...following,
      record,
      cursor: cursor === 'now' ? await this.#found.lastNumberOf(record, caller) : cursor,
      derived: !record.streams,
    });
  }

  /** A page of the events of a response behind a cursor. Waits for an event when there is none, if the request says so. */
  async readEvents(
    caller: Caller,
    responseId: string,
    {
      cursor,
      presentation,
      waitMs,
    }: { cursor: EventCursor; presentation: PresentationOptions; waitMs: number },
  ): Promise<EventPage> {
    const record = await this.#found.findWithEvents(caller.key.name, responseId, 'events_gone');
    if (cursor === 'now' && waitMs === 0) {
      return { events: [], free: () => undefined, ...(await this.#positionOf(record, caller)) };
    }
    return readEventPage(this.#dependencies, this.#attachments, caller, {
      record,
      cursor: cursor === 'now' ? await this.#found.lastNumberOf(record, caller) : cursor,
      presentation,
      derived: !record.streams,
      waitMs,
    });
  }

  /** Where the events of a response end by now. */
  async eventsPosition(
    caller: Pick<Caller, 'key' | 'hold'>,
    responseId: string,
  ): Promise<Omit<EventPage, 'events' | 'free'>> {
    const record = await this.#found.findWithEvents(caller.key.name, responseId, 'events_gone');
    return this.#positionOf(record, caller);
  }

  /** Cancels a response, in whichever mode it was created. A response that has ended is returned unchanged. */
  async cancel({ key, hold }: Pick<Caller, 'key' | 'hold'>, responseId: string): Promise<Answer> {
    const { store } = this.#dependencies;
    const found = await this.#found.find(key.name, responseId);
    if (isTerminal(found.status)) return this.#found.answerOf(found, hold);
    return this.#attached(responseId, async () => {
      await this.#ends.cancel(responseId, 'requested');
      // Deleted meanwhile: what is known of it is still the answer. One that is not to be stored is there until this is over.
      return this.#found.answerOf((await store.readShort(responseId)) ?? found, hold);
    });
  }

  /**
   * Ends a response of any tenant, and says how it stands then; undefined when there is none, or it had ended before and is not
   * kept. Its record is read once, and no answer is made of it, for which memory would be held.
   */
  async endUntold(responseId: string): Promise<Status | undefined> {
    const { store } = this.#dependencies;
    return this.#attached(responseId, async () => {
      const isEnded = await this.#ends.cancel(responseId, 'requested');
      const record = await store.readShort(responseId);
      return record && (isEnded || isKeptAfterEnd(record.request)) ? record.status : undefined;
    });
  }

  /** Whether an Idempotency-Key stands for a response that runs or has an answer, so that the same request is not run anew. `previousId` is what the request continues. */
  async isKeyTaken(tenant: string, idempotencyKey: string, previousId?: string): Promise<boolean> {
    const { store } = this.#dependencies;
    const id = await store.responseOfKey(tenant, idempotencyKey, previousId);
    const record = id === undefined ? undefined : await store.readShort(id);
    return record !== undefined && record.status !== 'failed' && record.status !== 'cancelled';
  }

  /** Takes a response away for good, as safely as the settings ask for; one that still runs is cancelled first. */
  async remove(tenant: string, responseId: string): Promise<void> {
    const isFound = await this.#erase(tenant, responseId, { withKey: false });
    // Also what an earlier try has taken away may come back with a failover.
    if (isResponseId(responseId) && !(await this.#dependencies.store.isDurable(responseId)))
      throw notDurable();
    if (!isFound) throw responseNotFound();
  }

  /** Takes a response away together with its Idempotency-Key, for who will not send the request again, and tells nobody. */
  async forget(tenant: string, responseId: string): Promise<void> {
    await this.#erase(tenant, responseId, { withKey: true });
  }

  async #erase(tenant: string, responseId: string, options: { withKey: boolean }): Promise<boolean> {
    const found = await this.#found.findIfThere(tenant, responseId);
    if (!found) return false;
    if (!isTerminal(found.status)) {
      await this.#attached(responseId, () => this.#ends.cancel(responseId, 'deleted'));
    }
    await this.#dependencies.store.erase(responseId, tenant, options);
    return true;
  }

  /** A page of the input of a response itself, without what it continued from. `reserve` holds memory for what is read. */
  async inputItems(
    tenant: string,
    responseId: string,
    page: InputPage & { reserve: Reserve },
  ): Promise<PickedPage> {
    if (!isResponseId(responseId)) throw responseNotFound();
    return this.#items.page(tenant, responseId, page);
  }

  /** Stored responses of a tenant, newest first, from the one behind `after` on. */
  async list(
    { key, hold }: Pick<Caller, 'key' | 'hold'>,
    page: { after: string | undefined; limit: number },
  ): Promise<ResponsePage> {
    const found = await this.#dependencies.store.list(key.name, page, hold);
    if (!found) {
      const message = "'after' names no response of yours that is still kept; begin again without it.";
      throw new ServiceError('invalid_value', message, { param: 'after' });
    }
    const { records, hasMore, free } = found;
    try {
      if (!(await this.#dependencies.store.isDurable(...records.map(({ id }) => id)))) throw notDurable();
    } catch (error) {
      free?.();
      throw error;
    }
    return { responses: records.map((record) => responseOf(record)), hasMore, free };
  }

  /** Waits for what was let run; what has no answer by then is left to the rescue. */
  async stop(): Promise<void> {
    this.#positions.stop();
    await this.#background.stop();
  }

  /** Does something as one who waits for a response, so that nothing of the response goes meanwhile. */
  async #attached<Result>(responseId: string, run: () => Promise<Result>): Promise<Result> {
    const attachment = this.#attachments.open({ responseId, tenant: '', isKept: true, canReturn: true });
    try {
      return await run();
    } finally {
      attachment.close('caller_left');
    }
  }

  async #positionOf(
    record: ResponseRecord,
    caller: Pick<Caller, 'hold'>,
  ): Promise<Omit<EventPage, 'events' | 'free'>> {
    const isClosed = isTerminal(record.status);
    if (isClosed && !(await this.#dependencies.store.isDurable(record.id))) throw notDurable();
    return { next: (await this.#found.lastNumberOf(record, caller)) + 1, isUpToDate: true, isClosed };
  }
}
