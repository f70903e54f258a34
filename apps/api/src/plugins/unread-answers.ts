import type { ServerResponse } from 'node:http';
import { PassThrough, pipeline, Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { BodyBudget } from '../bodies/body-budget.ts';
import type { Caller } from '../responses/caller.ts';
import type { LongTexts } from '@sluice/response-store';
import { defaultStalledMs, isSliced, SlicedBody, slicesOf, SliceTurns } from '../reader-pace.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Whether the bytes of its answer are counted already; see `holdAnswer`. */
    isAnswerHeld: boolean;
  }
  interface FastifyInstance {
    /** The turns of everything large that is written to readers. */
    sliceTurns: SliceTurns;
  }
}

interface UnreadAnswer {
  raw: ServerResponse;
  /** How many looks found that its reader had taken nothing since the one before. */
  idleLooks: number;
}

/** Most characters of a long answer that are neither its long texts nor held with these, and count as none. */
const besideRequest = 64 * 1024;

/**
 * How often answers are looked at, within the time that a reader has. A stalled one is found late by one look. Looks are
 * counted, and not the time, since a process that stood still for a minute has seen nothing of what readers took then.
 */
const looksPerTime = 10;

/**
 * Closes the connections of readers that take nothing of their answer for too long, and frees the answer with them. A
 * reader that is slow and goes on reading is not cut. `SseStream` does the same for event streams.
 *
 * One timer serves all answers of a process; most are taken at once, and a timer for each would cost more than they do.
 */
export function registerUnreadAnswers(
  app: FastifyInstance,
  { stalledMs = defaultStalledMs, bodyBudget }: { stalledMs?: number | undefined; bodyBudget: BodyBudget },
): void {
  app.decorateRequest('isAnswerHeld', false);
  app.decorate('sliceTurns', new SliceTurns());
  const unread = new Map<ServerResponse, UnreadAnswer>();
  const timer = setInterval(() => {
    for (const answer of unread.values()) {
      answer.idleLooks += 1;
      if (answer.idleLooks > looksPerTime) answer.raw.destroy();
    }
  }, stalledMs / looksPerTime);
  app.addHook('onClose', (_app, done) => {
    clearInterval(timer);
    done();
  });
  app.addHook('onSend', (request, reply, payload, done) => {
    const { raw } = reply;
    // Fastify would read all of it, for nobody.
    if (request.method === 'HEAD' && payload instanceof Readable) payload.destroy();
    const isWhole = typeof payload === 'string' || Buffer.isBuffer(payload);
    const long = isWhole && request.method !== 'HEAD' && isSliced(payload) ? payload : undefined;
    // Its reader may be slow: until the answer is over it counts as held for its tenant.
    const ownBytes = payload instanceof SlicedBody ? payload.ownBytes : (long?.length ?? 0);
    const held =
      ownBytes === 0 || request.isAnswerHeld ? undefined : bodyBudget.open(request.key?.name ?? '');
    try {
      held?.grow(ownBytes);
    } catch (error) {
      done(error as Error); // only errors are thrown above
      return;
    }
    const answer = { raw, idleLooks: 0 };
    unread.set(raw, answer);
    // Fastify has no hook for a connection that was closed under its answer.
    whenOver(raw, () => {
      unread.delete(raw);
      held?.release();
    });
    const body =
      long === undefined
        ? watched(payload, answer)
        : SlicedBody.of(typeof long === 'string' ? Buffer.from(long) : long);
    if (body instanceof SlicedBody) {
      body.turns = app.sliceTurns;
      body.onTaken = () => {
        answer.idleLooks = 0;
      };
      if (body.byteLength !== undefined) reply.header('content-length', body.byteLength);
    }
    done(null, body);
  });
  app.addHook('onResponse', (_request, reply, done) => {
    unread.delete(reply.raw);
    done();
  });
}

/**
 * Waits until there is room for an answer that must not be refused, because its work is done and a client would ask for
 * it again.
 */
export async function holdAnswer(
  reply: FastifyReply,
  body: string,
  { hold }: Pick<Caller, 'hold'>,
): Promise<void> {
  if (!isSliced(body)) return;
  const free = await hold(body.length);
  reply.request.isAnswerHeld = true;
  whenOver(reply.raw, free);
}

/**
 * Sends a body whose long texts are marks in it, as the bytes that the store has; `free` is called when its reader has it,
 * or is gone. What is between the marks may be long as well: a caller waits for room for it, or it is refused without. `heldBytes` of it
 * are held until then.
 */
export async function sendLong(
  reply: FastifyReply,
  body: string,
  {
    texts,
    free,
    caller,
    heldBytes = 0,
  }: {
    texts: LongTexts;
    free: () => void;
    caller?: Caller | undefined;
    heldBytes?: number | undefined;
  },
): Promise<FastifyReply> {
  whenOver(reply.raw, free);
  // Who waited for more while it holds that might wait for who waits for it.
  if (heldBytes > 0 && body.length <= heldBytes + besideRequest) reply.request.isAnswerHeld = true;
  else if (caller) await holdAnswer(reply, body, caller);
  return reply.send(new SlicedBody({ ...texts.bodyOf(body), ownBytes: isSliced(body) ? body.length : 0 }));
}

/** A stream of another kind, in slices, which says when its reader takes one. */
function watched(payload: unknown, answer: UnreadAnswer): unknown {
  if (!(payload instanceof Readable) || payload instanceof SlicedBody || payload.destroyed) return payload;
  const taken = new PassThrough();
  async function* slices(chunks: AsyncIterable<Buffer | string>) {
    for await (const chunk of chunks) {
      for (const slice of slicesOf(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)) {
        answer.idleLooks = 0;
        yield slice;
      }
    }
  }
  pipeline(payload, slices, taken, () => undefined); // `taken` tells of an error
  return taken;
}

/** The acts that wait for the end of each answer. */
const actsOf = new WeakMap<ServerResponse, (() => void)[]>();

/**
 * Acts when the connection is done with an answer, or at once when it was closed before there was one. All that waits for
 * an answer shares a listener, since Node.js takes more than ten for a leak.
 */
export function whenOver(raw: ServerResponse, act: () => void): void {
  const waiting = actsOf.get(raw);
  if (raw.destroyed) act();
  else if (waiting) waiting.push(act);
  else {
    const acts = [act];
    actsOf.set(raw, acts);
    raw.once('close', () => {
      for (const each of acts) each();
    });
  }
}
