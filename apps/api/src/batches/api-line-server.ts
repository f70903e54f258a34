import {
  type BatchOwner,
  type LineAnswer,
  LineLeft,
  type LineRequest,
  type LineRun,
  type LineServer,
} from '@sluice/batches';
import type { KeySettings } from '@sluice/config';
import {
  type BatchError,
  type ErrorBody,
  type LineEndpoint,
  newRequestId,
  ServiceError,
} from '@sluice/contract';
import { recordVersion } from '@sluice/response-store';
import { type Logger, loggedError, pause, randomBytes, repeatUnanswered } from '@sluice/runtime';
import type { LiveSettings } from '@sluice/tenants';
import type { BodyBudget } from '../bodies/body-budget.ts';
import type { JsonReader } from '../bodies/json-reader.ts';
import type { PreparedBody } from '../bodies/prepare-body.ts';
import { holdWhenThereIsRoom } from '../plugins/caller.ts';
import { asServiceError } from '../plugins/error-handler.ts';
import type { Answer } from '../responses/answer.ts';
import { type Caller, CallerPresence } from '../responses/caller.ts';
import { PendingRequest } from '../responses/pending-request.ts';
import type { Responses } from '../responses/responses.ts';
import { answerOfLine, formOf, refusedLine, wrongLine } from './line-answer.ts';
import type { Slack } from './slack.ts';

export interface ApiLineServerOptions {
  responses: Responses;
  json: JsonReader;
  live: Pick<LiveSettings, 'keys'>;
  bodyBudget: BodyBudget;
  slack: Slack;
  logger: Logger;
}

/** How the answer to a line is to be given. */
type Delivery = Pick<PreparedBody, 'embedding' | 'message'>;

/** How long a line waits that there was no room for, unless that says how long, in milliseconds. */
const laterMs = 2_000;

/** How long the reply to the cancel of a line is asked for again while it is missing, in milliseconds. */
const cancelWithinMs = 60_000;

/** Serves the lines of batches: each is a response in the background, in the tier of batches, by the key that made its batch. */
export class ApiLineServer implements LineServer {
  readonly #options: ApiLineServerOptions;

  constructor(options: ApiLineServerOptions) {
    this.#options = options;
  }

  async check(
    owner: BatchOwner,
    { endpoint, body }: Pick<LineRequest, 'endpoint' | 'body'>,
  ): Promise<ErrorBody | undefined> {
    // An error of a message is the result of its line.
    if (endpoint === '/v1/messages') return undefined;
    const { responses } = this.#options;
    try {
      const key = this.#keyOf(owner);
      const { request } = await this.#prepared(owner, { endpoint, body });
      responses.directory.find(request.model, key);
      return undefined;
    } catch (error) {
      if (error instanceof ServiceError && !mayPass(error)) return error.toBody();
      // Nobody can tell now; it is said when the line runs.
      return undefined;
    }
  }

  refuse(endpoint: LineEndpoint, problem: BatchError): LineAnswer {
    return wrongLine(problem, { endpoint, requestId: newRequestId(randomBytes) });
  }

  /** A response that another release has begun cannot be read here, so a line begins anew once another release runs its batch. */
  run(owner: BatchOwner, request: LineRequest, run: LineRun): Promise<LineAnswer> {
    const idempotencyKey = `${request.idempotencyKey}:${recordVersion}`;
    return this.#run(owner, { ...request, idempotencyKey }, run);
  }

  async #run(owner: BatchOwner, request: LineRequest, { leaving, ending }: LineRun): Promise<LineAnswer> {
    const stop = AbortSignal.any([leaving, ending]);
    const requestId = newRequestId(randomBytes);
    for (;;) {
      try {
        if (await this.#isOver(owner, request, { leaving, ending })) throw new LineLeft();
        return await this.#runOnce(owner, request, { requestId, leaving, ending });
      } catch (error) {
        if (error instanceof LineLeft) throw error;
        const known = asServiceError(error);
        if (!known)
          this.#options.logger.error({ err: loggedError(error), requestId }, 'line of a batch failed');
        const told = known ?? new ServiceError('server_error', 'The server had an error.');
        if (!mayPass(told)) return refusedLine(told, { endpoint: request.endpoint, requestId });
        await pause(told.retryAfterMs ?? laterMs, ending.aborted ? leaving : stop);
      }
    }
  }

  /** Whether nothing is to be done for a line. One that a process before had accepted is cancelled by who attaches to it. */
  async #isOver(owner: BatchOwner, request: LineRequest, { leaving, ending }: LineRun): Promise<boolean> {
    if (leaving.aborted || !ending.aborted) return leaving.aborted;
    const previousId = await this.#previousOf(owner, request);
    return !(await this.#options.responses.isKeyTaken(owner.tenant, request.idempotencyKey, previousId));
  }

  /** The response that a line continues, if any. A line that is wrong continues none: no process has had it accepted. */
  async #previousOf(owner: BatchOwner, request: LineRequest): Promise<string | undefined> {
    try {
      return (await this.#prepared(owner, request)).request.previous_response_id;
    } catch (error) {
      const known = asServiceError(error);
      if (!known || mayPass(known)) throw error;
      return undefined;
    }
  }

  async #runOnce(
    owner: BatchOwner,
    request: LineRequest,
    { requestId, leaving, ending }: LineRun & { requestId: string },
  ): Promise<LineAnswer> {
    const { responses } = this.#options;
    const presence = new CallerPresence();
    const onLeaving = () => presence.end('interrupted');
    leaving.addEventListener('abort', onLeaving, { once: true });
    if (leaving.aborted) onLeaving();
    const caller = this.#callerOf(owner, requestId, presence);
    let onEnding: (() => void) | undefined;
    const onAccepted = (responseId: string) => {
      const cancelling = () => responses.endUntold(responseId);
      onEnding = () =>
        void repeatUnanswered(cancelling, { giveUpAt: performance.now() + cancelWithinMs }).catch(
          () => undefined,
        ); // its end says so
      ending.addEventListener('abort', onEnding, { once: true });
      if (ending.aborted) onEnding();
    };
    try {
      const { embedding, message, ...prepared } = await this.#prepared(owner, request);
      const { queue } = responses.directory.find(prepared.request.model, caller.key);
      const leave = await this.#options.slack.enter(queue, AbortSignal.any([leaving, ending]));
      try {
        if (await this.#isOver(owner, request, { leaving, ending })) throw new LineLeft();
        const answer = await this.#answered(caller, request, { prepared, onAccepted });
        return await this.#answer(answer, { caller, request, prepared: { embedding, message } });
      } finally {
        leave();
      }
    } finally {
      leaving.removeEventListener('abort', onLeaving);
      if (onEnding) ending.removeEventListener('abort', onEnding);
    }
  }

  /** The response of a line once it has ended. */
  async #answered(
    caller: Caller,
    { idempotencyKey }: LineRequest,
    {
      prepared,
      onAccepted,
    }: {
      prepared: ConstructorParameters<typeof PendingRequest>[0];
      onAccepted: (responseId: string) => void;
    },
  ): Promise<Answer> {
    const free = await caller.hold(prepared.input.length);
    try {
      const created = await this.#options.responses.create.whole(caller, {
        pending: new PendingRequest(prepared),
        idempotencyKey,
        tier: 'batch',
        isAwaited: true,
        reserve: () => undefined,
        onAccepted: ({ responseId }) => {
          free();
          onAccepted(responseId);
        },
      });
      if (created.kind === 'left') throw new LineLeft();
      return created.answer;
    } finally {
      free();
    }
  }

  async #answer(
    answer: Answer,
    { caller, request, prepared }: { caller: Caller; request: LineRequest; prepared: Delivery },
  ): Promise<LineAnswer> {
    const { responses } = this.#options;
    const { id } = answer.response;
    const { requestId } = caller;
    try {
      return {
        ...(await answerOfLine(answer, { endpoint: request.endpoint, requestId, ...prepared })),
        requestId,
        free: answer.free,
        // It stands in the file. It stays where its line asks for that.
        forget: request.isKept ? undefined : () => responses.forget(caller.key.name, id),
      };
    } catch (error) {
      answer.free();
      throw error;
    }
  }

  #prepared(
    { tenant }: BatchOwner,
    { endpoint, body }: Pick<LineRequest, 'endpoint' | 'body'>,
  ): PreparedBody | Promise<PreparedBody> {
    // The bytes go to a thread if they are many, and a line may be tried again.
    const bytes = Buffer.from(new Uint8Array(body).buffer);
    return this.#options.json.prepare(bytes, {
      tenant,
      withDigest: true,
      form: formOf(endpoint),
      inBackground: true,
    });
  }

  #callerOf(owner: BatchOwner, requestId: string, presence: CallerPresence): Caller {
    const { bodyBudget: budget } = this.#options;
    const { tenant } = owner;
    const since = performance.now();
    return {
      key: this.#keyOf(owner),
      requestId,
      presence,
      hold: (bytes, withinMs) => holdWhenThereIsRoom(budget, { tenant, bytes, presence, withinMs }),
      elapsedMs: () => performance.now() - since,
    };
  }

  #keyOf({ tenant, key }: BatchOwner): KeySettings {
    const { keys } = this.#options.live;
    const found = keys.findByHash(key);
    if (found?.name === tenant) return found;
    // Without the stored keys nobody can tell.
    if (!keys.isComplete) throw new ServiceError('server_is_overloaded');
    throw new ServiceError('invalid_api_key', 'The key that made the batch does not count any more.');
  }
}

/** Whether what is refused now may be taken later. */
function mayPass({ status, retryAfterMs, code }: ServiceError): boolean {
  if (code === 'server_error') return false;
  return status === 503 || (status === 429 && retryAfterMs !== undefined) || code === 'request_timeout';
}
