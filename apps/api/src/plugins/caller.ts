import { ServiceError } from '@sluice/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { BodyBudget } from '../bodies/body-budget.ts';
import type { OpenRequests } from '../open-requests.ts';
import { type Caller, CallerPresence } from '../responses/caller.ts';

export interface ServedRequest {
  request: FastifyRequest;
  reply: FastifyReply;
  open: OpenRequests;
  bodyBudget: BodyBudget;
}

/**
 * Serves a request as long as its caller is there: until its connection closes before the answer is written, or this
 * process cannot wait any longer.
 *
 * @throws {ServiceError} when its tenant, or everybody together, has too many requests open.
 */
export async function serveCaller<Result>(
  { request, reply, open, bodyBudget }: ServedRequest,
  serve: (caller: Caller) => Promise<Result>,
): Promise<Result> {
  const leave = open.enter(request.key.name);
  const presence = new CallerPresence();
  const { raw } = reply;
  const onClose = () => {
    if (!raw.writableFinished) presence.end('caller_left');
  };
  const onInterrupt = () => presence.end('interrupted');
  const { underWay = open.begin(onInterrupt) } = request;
  open.take(underWay, onInterrupt);
  raw.once('close', onClose);
  if (raw.destroyed) onClose();
  try {
    return await serve({
      key: request.key,
      requestId: request.id,
      trace: request.trace,
      presence,
      hold: (bytes, withinMs) =>
        holdWhenThereIsRoom(bodyBudget, { tenant: request.key.name, bytes, presence, withinMs }),
      elapsedMs: () => reply.elapsedTime,
    });
  } finally {
    raw.off('close', onClose);
    underWay.end();
    leave();
  }
}

/** How long a caller waits for room in memory as a rule, in milliseconds. */
const roomWithinMs = 30_000;

/** Holds memory for a caller; see `Caller`. */
export async function holdWhenThereIsRoom(
  budget: BodyBudget,
  {
    tenant,
    bytes,
    presence,
    withinMs = roomWithinMs,
  }: { tenant: string; bytes: number; presence: CallerPresence; withinMs?: number | undefined },
): Promise<() => void> {
  const reservation = budget.open(tenant);
  const over = new AbortController();
  const refused = () => over.abort(budget.refusal(tenant, bytes) ?? new ServiceError('server_is_overloaded'));
  const timer = Number.isFinite(withinMs) ? setTimeout(refused, withinMs) : undefined;
  const listensNoMore = presence.onEnd(refused);
  try {
    await reservation.growInTurn(bytes, over.signal);
  } finally {
    clearTimeout(timer);
    listensNoMore();
  }
  return () => reservation.release();
}
