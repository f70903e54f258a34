import type { KeySettings } from '@sluice/config';
import { completed, countedUsage, newRequestId, type ResponseEnd, ServiceError } from '@sluice/contract';
import { type Logger, loggedError, randomBytes, type Telemetry } from '@sluice/runtime';
import type { BodyBudget, BodyReservation } from '../bodies/body-budget.ts';
import type { OpenRequests } from '../open-requests.ts';
import { holdWhenThereIsRoom } from '../plugins/caller.ts';
import { asServiceError } from '../plugins/error-handler.ts';
import type { BeginTrace } from '../plugins/request-trace.ts';
import { type Caller, CallerPresence } from '../responses/caller.ts';
import { EventPresentation, type PresentationOptions } from '../responses/event-presentation.ts';
import type { LocalContext } from '../responses/local-context.ts';
import type { PendingRequest } from '../responses/pending-request.ts';
import { previousNotFinished } from '../responses/resolve-references.ts';
import type { Responses } from '../responses/responses.ts';
import { responseGone, serverStops } from '../responses/whole-response.ts';
import { errorFrame } from './error-frame.ts';
import type { FrameWriter } from './frame-writer.ts';
import type { ConnectionContexts } from './local-contexts.ts';
import { SocketSink } from './socket-sink.ts';
import type { Lane } from './turn-lanes.ts';

/** One request of a connection. */
export interface Turn {
  lane: Lane;
  pending: PendingRequest;
  /** Whether the model is to be called. Otherwise what was sent is kept for the turns that continue from it. */
  generates: boolean;
  /** The memory that its frame holds. */
  reservation: BodyReservation;
  /** When its frame had arrived, by `performance.now`. */
  arrivedAt: number;
}

/** The parts that all turns of a connection share. */
export interface TurnSurroundings {
  responses: Responses;
  open: OpenRequests;
  bodyBudget: BodyBudget;
  contexts: ConnectionContexts;
  writer: FrameWriter;
  presentation: PresentationOptions;
  telemetry: Telemetry;
  /** Absent while traces are off. */
  beginTrace?: BeginTrace | undefined;
  logger: Logger;
  /** @throws {ServiceError} when the key of the connection does not count any more, or may not do this now. */
  keyFor: (turn: Turn) => KeySettings;
}

/**
 * Runs one turn and sends its events, or the error that takes their place. A turn that fails takes what it continued from out of
 * the memory of its connection, so that nobody builds on half of a conversation.
 *
 * It never rejects. The response ends with the connection: it has no other caller.
 */
export async function runTurn(turn: Turn, surroundings: TurnSurroundings): Promise<void> {
  const { open, writer, contexts, bodyBudget, telemetry, logger } = surroundings;
  const presence = new CallerPresence();
  const onGone = () => presence.end('caller_left');
  writer.gone.addEventListener('abort', onGone, { once: true });
  if (writer.gone.aborted) onGone();
  const underWay = open.begin(() => presence.end('interrupted'));
  const previousId = turn.pending.request.previous_response_id;
  const requestId = newRequestId(randomBytes);
  // A frame has no headers: each turn is a trace of its own.
  const trace = surroundings.beginTrace?.(undefined);
  let code: string | undefined;
  let leave: (() => void) | undefined;
  try {
    const key = surroundings.keyFor(turn);
    leave = open.enter(key.name);
    const caller: Caller = {
      key,
      requestId,
      trace,
      presence,
      hold: (bytes, withinMs) =>
        holdWhenThereIsRoom(bodyBudget, { tenant: key.name, bytes, presence, withinMs }),
      elapsedMs: () => performance.now() - turn.arrivedAt,
    };
    const context = contextOf(contexts, previousId);
    if (turn.generates) await generate(turn, { ...surroundings, caller, context });
    else await keepWithoutRun(turn, { ...surroundings, caller, context });
  } catch (error) {
    if (previousId !== undefined) contexts.drop(previousId);
    if (writer.gone.aborted) return;
    const known = asServiceError(error);
    if (!known) logger.error({ err: loggedError(error), requestId }, 'turn failed');
    const told = known ?? new ServiceError('server_error', 'The server had an error.', { cause: error });
    code = told.code;
    await writer.write([errorFrame(told, turn.lane, requestId)]).catch(() => undefined);
  } finally {
    turn.reservation.release();
    writer.gone.removeEventListener('abort', onGone);
    underWay.end();
    leave?.();
    telemetry.emit('turn.answered', { code, elapsedMs: performance.now() - turn.arrivedAt, trace });
  }
}

type RunningTurn = TurnSurroundings & { caller: Caller; context: LocalContext | undefined };

async function generate(
  { pending, lane, reservation }: Turn,
  { responses, contexts, writer, presentation, caller, context }: RunningTurn,
): Promise<void> {
  const { store, previous_response_id: previousId } = pending.request;
  let sink: SocketSink | undefined;
  let isFailed = false;
  let runningId: string | undefined;
  const unpin = reservation.pin();
  const isOver = () => {
    unpin();
    reservation.release();
  };
  try {
    await responses.create.stream(
      caller,
      {
        pending,
        context,
        presentation,
        idempotencyKey: undefined,
        reserve: (bytes) => reservation.grow(bytes),
        onAccepted: isOver,
        // A stored response can be continued from the store.
        onTaken: (responseId, prepared) => {
          if (store !== false) return;
          runningId = responseId;
          contexts.begin(responseId, prepared);
        },
        onEnd: (responseId, { status, output }: ResponseEnd) => {
          isFailed = status === 'failed';
          if (status === 'completed' || status === 'incomplete') contexts.end(responseId, output);
        },
      },
      () => (sink = new SocketSink(writer, lane)),
    );
  } finally {
    isOver();
    if (runningId !== undefined && contexts.get(runningId)?.kind === 'runs') contexts.drop(runningId);
  }
  if (isFailed && previousId !== undefined) contexts.drop(previousId);
  if (sink && !sink.isWhole)
    throw caller.presence.departure === 'interrupted' ? serverStops() : responseGone();
}

/** Answers a request that calls no model: its client gets an id that later turns can continue from. */
async function keepWithoutRun(
  { pending, lane, reservation }: Turn,
  { responses, contexts, writer, presentation: options, caller, context }: RunningTurn,
): Promise<void> {
  const { response, prepared } = await responses.create.withoutRun(caller, {
    pending,
    context,
    reserve: (bytes) => reservation.grow(bytes),
  });
  contexts.begin(response.id, prepared);
  contexts.end(response.id, []);
  const presentation = new EventPresentation(options);
  const end = completed({ output: [], usage: countedUsage(0, 0) }, response.created_at);
  const sink = new SocketSink(writer, lane);
  sink.end();
  await sink.write([
    presentation.lifecycle(response, { type: 'response.created', sequenceNumber: 0 }),
    presentation.lifecycle(response, { type: 'response.completed', sequenceNumber: 1 }, end),
  ]);
}

/** The context that the connection keeps of the response that a turn continues from; undefined to ask the store. */
function contextOf(contexts: ConnectionContexts, previousId: string | undefined): LocalContext | undefined {
  const kept = previousId === undefined ? undefined : contexts.get(previousId);
  if (kept?.kind === 'runs') throw previousNotFinished('in_progress');
  return kept?.context;
}
