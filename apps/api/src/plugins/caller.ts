import { ServiceError } from '@sluice/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { BodyBudget, BodyReservation } from '../bodies/body-budget.ts';
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
 */
export async function serveCaller<Result>(
  { request, reply, open, bodyBudget }: ServedRequest,
  serve: (caller: Caller) => Promise<Result>,
): Promise<Result> {
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
      hold: (bytes) => holdWhenThereIsRoom(bodyBudget, { tenant: request.key.name, bytes, presence }),
      elapsedMs: () => reply.elapsedTime,
    });
  } finally {
    raw.off('close', onClose);
    underWay.end();
  }
}

/** How long a caller waits for room in memory, and how often it looks, in milliseconds. */
const roomWithinMs = 30_000;
const lookEveryMs = 100;

/** Holds memory for a caller; see `Caller`. */
export async function holdWhenThereIsRoom(
  budget: BodyBudget,
  { tenant, bytes, presence }: { tenant: string; bytes: number; presence: CallerPresence },
): Promise<() => void> {
  const reservation = budget.open(tenant);
  await growWhenThereIsRoom(reservation, bytes, presence);
  return () => reservation.release();
}

async function growWhenThereIsRoom(
  reservation: BodyReservation,
  bytes: number,
  presence: CallerPresence,
): Promise<void> {
  const giveUpAt = performance.now() + roomWithinMs;
  for (;;) {
    try {
      return reservation.grow(bytes);
    } catch (error) {
      const mayChange = error instanceof ServiceError && error.code !== 'request_too_large';
      if (!mayChange || presence.departure !== undefined || performance.now() > giveUpAt) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
  }
}
