import { isKeptAfterEnd, isTerminal, type Response } from '@sluice/contract';
import { type EndWait, type PreparedRequest, type ResponseRecord } from '@sluice/response-store';
import type { AcceptOutcome, ResponseAcceptor } from './accept-response.ts';
import { tellingRefusal } from '../refused-creates.ts';
import { AcceptedResponse } from './accepted-response.ts';
import { answerOf, shortAnswer, wholeAnswer } from './answer.ts';
import {
  type Attachment,
  type AttachmentEnd,
  type Attachments,
  closesBoth,
  endOfWait,
} from './attachments.ts';
import type { Caller } from './caller.ts';
import type { Created, Creation, OpenSink, StreamCreation } from './creation.ts';
import { deliverEvents } from './deliver-events.ts';
import type { PresentationOptions } from './event-presentation.ts';
import type { ResponsesDependencies } from './dependencies.ts';
import type { AttachedResponse, EarlyEnds } from './early-ends.ts';
import { followResponse } from './follow-response.ts';
import { withPosition } from './present-position.ts';
import type { QueuePositions } from './queue-positions.ts';
import { ReaderRoom } from './reader-room.ts';
import { notDurable, refusal, soonest } from './refusals.ts';
import { idsOfNewResponse } from './ids-of-new-response.ts';
import type { RequestChecks, UncheckedRequest } from './request-checks.ts';
import { responseGone, serverStops, waitedTooLong } from './whole-response.ts';

export interface CreatorParts {
  acceptor: ResponseAcceptor;
  checks: RequestChecks;
  attachments: Attachments;
  ends: EarlyEnds;
  positions: QueuePositions;
}

/** Creates responses in their three modes, for any caller and any sink. */
export class ResponseCreator {
  readonly #dependencies: ResponsesDependencies;
  readonly #parts: CreatorParts;

  constructor(dependencies: ResponsesDependencies, parts: CreatorParts) {
    this.#dependencies = dependencies;
    this.#parts = parts;
  }

  /**
   * Waits for the whole response. A caller that leaves ends it, unless it is in the background, where the caller is to be `isAwaited`,
   * or somebody else wants it.
   */
  async whole(caller: Caller, creation: Creation): Promise<Created> {
    const { store, settings } = this.#dependencies;
    const withinMs = creation.isAwaited ? Number.POSITIVE_INFINITY : settings.timeouts.syncWaitMs;
    const isKept = isKeptAfterEnd(creation.pending.request);
    const canReturn = creation.idempotencyKey !== undefined;
    const { watched, acceptance } = await this.#accept(caller, creation, (responseId) => {
      // Listens before the accept: no end can come too early.
      const wait = store.awaitEnd(responseId);
      const attachment = this.#attach(caller, { responseId, isKept, canReturn });
      return { wait, close: closesBoth(wait, attachment) };
    });
    let isAccepted = false;
    let hasAnswer = false;
    try {
      if (acceptance.kind === 'duplicate')
        return await this.#again(caller, creation, { responseId: acceptance.responseId, withinMs });
      isAccepted = true;
      const { accepted, use } = acceptance;
      creation.onAccepted({ responseId: accepted.id, use, isReplayed: false });
      const created = await this.#awaitWhole(caller, watched.wait, { accepted, withinMs });
      if (created.kind === 'response') await creation.onWhole?.(created.answer);
      hasAnswer = true;
      return created;
    } finally {
      watched.close(isAccepted ? endOfWait(watched.wait, caller, { hasAnswer }) : 'not_accepted');
    }
  }

  /** Sends the events of a new response as they come. */
  async stream(caller: Caller, creation: StreamCreation, openSink: OpenSink): Promise<void> {
    const { store, telemetry } = this.#dependencies;
    const { model } = creation.pending.request;
    const isKept = isKeptAfterEnd(creation.pending.request);
    const room = new ReaderRoom((bytes) => caller.hold(bytes, Number.POSITIVE_INFINITY));
    const { watched, acceptance } = await this.#accept(caller, creation, (responseId) => {
      const { holdPart: hold, holdBeside } = room;
      const following = { cursor: 1, readFirst: false, derived: false, hold, holdBeside };
      const subscription = store.follow(responseId, following);
      const attachment = this.#attach(caller, { responseId, isKept, canReturn: true });
      return { subscription, close: closesBoth(subscription, attachment) };
    });
    const { subscription } = watched;
    let end: AttachmentEnd = 'not_accepted';
    try {
      if (acceptance.kind === 'duplicate') {
        await this.#followAgain(caller, creation, acceptance.responseId, openSink);
        return;
      }
      // Until the reader is known to have left, it is this process that cuts it off.
      end = 'interrupted';
      const { id: responseId, largeBytes } = acceptance.accepted;
      room.requestBytes = largeBytes;
      creation.onAccepted({ responseId, use: acceptance.use, isReplayed: false });
      end = await deliverEvents({
        sink: openSink(),
        subscription,
        presence: caller.presence,
        accepted: acceptance.accepted,
        room,
        cursor: 1,
        opening: ['response.created', 'response.queued'],
        isRunning: false,
        wasAskedToEnd: () => store.wasAskedToEnd(responseId),
        isDurable: () => store.isDurable(responseId),
        presentation: creation.presentation,
        position: () => this.#parts.positions.ofIfKnown(acceptance.job.queue, responseId),
        onFirstOutput: () =>
          telemetry.emit('response.first_output', { responseId, model, sinceRequestMs: caller.elapsedMs() }),
        onEnd: ({ end: ended, texts }) => creation.onEnd?.(responseId, texts ? texts.filled(ended) : ended),
      });
      this.#reportDeparture(caller, responseId, end);
    } finally {
      watched.close(end);
    }
  }

  /** Answers with the acceptance: the response goes on without its caller. */
  async inBackground(caller: Caller, creation: Creation): Promise<Created> {
    const { acceptance } = await this.#accept(caller, creation, () => ({ close: () => undefined }));
    if (acceptance.kind === 'duplicate')
      return this.#again(caller, creation, { responseId: acceptance.responseId, withinMs: undefined });
    const { accepted, job, use } = acceptance;
    creation.onAccepted({ responseId: accepted.id, use, isReplayed: false });
    const position = this.#parts.positions.at(job.queue, await job.ahead);
    const response = withPosition(await accepted.whole(), position, this.#dependencies.now(accepted.id));
    return { kind: 'response', answer: shortAnswer(response) };
  }

  /**
   * Checks a request and gives it an id, and neither stores nor runs it: for a caller that keeps it for what continues from
   * it.
   */
  async withoutRun(
    caller: Caller,
    request: UncheckedRequest,
  ): Promise<{ response: Response; prepared: PreparedRequest }> {
    const [responseId = ''] = await idsOfNewResponse(this.#dependencies.store, caller, request);
    return this.#parts.checks.withoutRun(caller, request, responseId);
  }

  /**
   * The same request came before: its caller gets the one response there is, as a whole, or as it stands where it waits for no time at
   * all.
   */
  async #again(
    caller: Caller,
    creation: Creation,
    { responseId, withinMs }: { responseId: string; withinMs: number | undefined },
  ): Promise<Created> {
    const { store } = this.#dependencies;
    const wait = withinMs === undefined ? undefined : store.awaitEnd(responseId);
    const attachment = this.#attach(caller, { responseId, isKept: true, canReturn: true });
    let hasAnswer = false;
    try {
      const record = await this.#attachToRunning(caller, attachment);
      creation.onAccepted({ responseId, use: undefined, isReplayed: isTerminal(record.status) });
      if (!wait || withinMs === undefined || isTerminal(record.status))
        return { kind: 'response', answer: await answerOf(store, record, caller.hold) };
      const accepted = AcceptedResponse.takenFrom(record, store);
      const created = await this.#awaitWhole(caller, wait, { accepted, withinMs });
      hasAnswer = true;
      return created;
    } finally {
      wait?.close();
      attachment.close(endOfWait(wait, caller, { hasAnswer }));
    }
  }

  /** The same for a caller that asks for the events. */
  async #followAgain(
    caller: Caller,
    { presentation, onAccepted }: Creation & { presentation: PresentationOptions },
    responseId: string,
    openSink: OpenSink,
  ): Promise<void> {
    const { store } = this.#dependencies;
    const attachment = this.#attach(caller, { responseId, isKept: true, canReturn: true });
    let end: AttachmentEnd | undefined;
    try {
      const record = await this.#attachToRunning(caller, attachment);
      const hasEnded = isTerminal(record.status);
      onAccepted({ responseId, use: undefined, isReplayed: hasEnded });
      const hasLog = record.streams && (!hasEnded || (await store.hasLog(responseId)));
      const following = { record, cursor: -1, presentation, openSink, derived: !hasLog };
      const { attachments, positions } = this.#parts;
      end = await followResponse({ ...this.#dependencies, positions }, attachments, caller, following);
    } finally {
      attachment.close(end ?? caller.presence.departure ?? 'interrupted');
    }
  }

  /**
   * Makes this process a caller of the response that an Idempotency-Key stands for, and makes sure that it runs, and that it is
   * durable: its first caller may not have been told of it yet.
   */
  async #attachToRunning(caller: Caller, attachment: Attachment): Promise<ResponseRecord> {
    const { store } = this.#dependencies;
    const { responseId } = attachment;
    // Attached first: an end that is written from here on arrives.
    const isAttached = await store.attach(responseId);
    const record = await store.readShort(responseId);
    if (record?.tenant !== caller.key.name) throw refusal({ kind: 'gone' });
    // Its first caller was refused, so it ends in a moment and leaves the key free.
    if (!isAttached) throw refusal({ kind: 'too_late' });
    attachment.isKept = isKeptAfterEnd(record.request);
    if (isTerminal(record.status) && !attachment.isKept) {
      // It is not stored, and its first caller has it. That caller left it in the store for this one, which erases it now.
      attachment.close('whole');
      throw refusal({ kind: 'gone' });
    }
    // The first caller's process may have died between its accept and its job.
    if (record.status === 'queued' && !record.isEnqueued) {
      const isBackground = record.request.background === true;
      // It gets its own place: a client that sends each request twice would be ahead of all others otherwise.
      const priority = await store.queuePriority(responseId);
      await this.#parts.acceptor.enqueue(record.queue, responseId, { isBackground, priority });
    } else if (!(await store.isDurable(responseId))) throw notDurable();
    return record;
  }

  async #awaitWhole(
    caller: Caller,
    wait: EndWait,
    { accepted, withinMs }: { accepted: AcceptedResponse; withinMs: number },
  ): Promise<Created> {
    wait.begin(withinMs);
    caller.presence.onEnd((departure) => wait.giveUp(departure));
    const outcome = await wait.outcome;
    switch (outcome.kind) {
      case 'ended': {
        const { store } = this.#dependencies;
        if (!(await store.isDurable(accepted.id))) throw notDurable();
        return { kind: 'response', answer: await wholeAnswer(store, outcome.end, { caller, accepted }) };
      }
      case 'gone':
        throw responseGone();
      case 'timed_out':
        await this.#parts.ends.timedOut(accepted.id);
        throw waitedTooLong(withinMs);
      case 'given_up':
        this.#reportDeparture(caller, accepted.id, outcome.reason);
        if (outcome.reason === 'interrupted') throw serverStops();
        return { kind: 'left' };
    }
  }

  /**
   * Checks a request, and accepts its response where there is room for it: a tenant may be in several cells of the store. `watch` begins to
   * listen for a response before its accept, and is closed where it was refused.
   *
   * @throws the refusal with the shortest wait, when there is no room anywhere.
   */
  async #accept<Watched extends { close: (end: AttachmentEnd) => void }>(
    caller: Caller,
    creation: Creation,
    watch: (responseId: string) => Watched,
  ): Promise<{ watched: Watched; acceptance: Exclude<AcceptOutcome, { kind: 'refused' }> }> {
    const { acceptor } = this.#parts;
    const about = { tenant: caller.key.name, model: creation.pending.request.model };
    return tellingRefusal(this.#dependencies.telemetry, about, async () => {
      const checked = await acceptor.check(caller, creation);
      const refusals: unknown[] = [];
      for (const responseId of await idsOfNewResponse(this.#dependencies.store, caller, creation)) {
        const watched = watch(responseId);
        let isTaken = false;
        try {
          const acceptance = await acceptor.accept(responseId, caller, { ...creation, checked });
          if (acceptance.kind === 'duplicate') creation.onDuplicate?.();
          if (acceptance.kind !== 'refused') {
            isTaken = true;
            return { watched, acceptance };
          }
          refusals.push(acceptance.error);
        } finally {
          if (!isTaken) watched.close('not_accepted');
        }
      }
      throw soonest(refusals);
    });
  }

  #attach({ key: { name: tenant } }: Caller, response: Omit<AttachedResponse, 'tenant'>): Attachment {
    return this.#parts.attachments.open({ ...response, tenant });
  }

  #reportDeparture({ requestId }: Caller, responseId: string, end: AttachmentEnd): void {
    if (end !== 'caller_left' && end !== 'interrupted') return;
    this.#dependencies.telemetry.emit('caller.left', { responseId, requestId, reason: end });
  }
}
