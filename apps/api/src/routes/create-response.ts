import { type CreateResponse, parseCreateResponse, type Response, ServiceError } from '@sluice/contract';
import { acceptedResponse, responseOf } from '@sluice/event-log';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Acceptance } from '../accept-response.ts';
import type { ApiMetrics } from '../api-metrics.ts';
import { type Dialect, responseBody } from '../dialect.ts';
import { followStored } from '../follow-stored.ts';
import type { OpenRequests } from '../open-requests.ts';
import { rateLimitHeaders } from '../rate-limit-headers.ts';
import { RateLimited, refusal } from '../refusals.ts';
import type { ResponseService } from '../response-service.ts';
import { type StreamEnding, streamResponse } from '../stream-response.ts';
import { waitForWhole } from '../wait-for-whole.ts';

export interface CreateResponseOptions {
  dialect: Dialect;
  service: ResponseService;
  open: OpenRequests;
  metrics: ApiMetrics;
  syncWaitMs: number;
}

/** One create request on its way. */
interface Creation extends CreateResponseOptions {
  request: FastifyRequest;
  reply: FastifyReply;
  body: CreateResponse;
  idempotencyKey: string | undefined;
  interrupted: AbortSignal;
}

/** `POST /responses`: validate, accept, and answer with the whole response, its events, or its acceptance. */
export function registerCreateResponse(app: FastifyInstance, options: CreateResponseOptions): void {
  app.post('/responses', (request, reply) => {
    const body = parseCreateResponse(request.body);
    const idempotencyKey = readIdempotencyKey(request);
    return options.open.run((interrupted) => {
      const creation = { ...options, request, reply, body, idempotencyKey, interrupted };
      if (body.stream === true) return answerStream(creation);
      return body.background === true ? answerAcceptance(creation) : answerWhole(creation);
    });
  });
}

async function answerWhole(creation: Creation): Promise<FastifyReply> {
  const { service } = creation;
  const responseId = service.newId();
  // Listens before the accept: no end can come too early.
  const pending = service.relay.awaitEnd(responseId);
  const acceptance = await acceptOr(creation, responseId, () => pending.close());
  if (acceptance.kind === 'duplicate') {
    pending.close();
    return answerDuplicate(creation, acceptance.responseId);
  }
  return waitForWhole({ ...creation, responseId, pending, accepted: acceptance.response });
}

async function answerStream(creation: Creation): Promise<FastifyReply> {
  const { service, request, reply, body, dialect, metrics, interrupted } = creation;
  const responseId = service.newId();
  const subscription = service.relay.follow(responseId, { cursor: 1, readFirst: false, derived: false });
  const acceptance = await acceptOr(creation, responseId, () => subscription.close());
  if (acceptance.kind === 'duplicate') {
    subscription.close();
    return answerDuplicate(creation, acceptance.responseId);
  }
  let ending: StreamEnding = 'left';
  try {
    ending = await streamResponse({
      reply,
      subscription,
      accepted: acceptance.response,
      cursor: 1,
      opening: ['response.created', 'response.queued'],
      isRunning: false,
      presentation: presentationOf(request, body, dialect),
      interrupted,
      onFirstOutput: () => metrics.firstToken(body.model, reply.elapsedTime),
    });
    if (ending === 'left') request.log.info({ responseId }, 'caller left');
    return reply;
  } finally {
    subscription.close();
    if (ending === 'whole') {
      const isStored = body.store !== false;
      service.ending.delivered({ id: responseId, tenant: request.caller.name, isStored });
    } else {
      service.ending.callerLeft(responseId, { isInterrupted: ending === 'interrupted' });
    }
  }
}

/** A background response without a stream is answered as soon as it is accepted. */
async function answerAcceptance(creation: Creation): Promise<FastifyReply> {
  const { service, reply, dialect } = creation;
  const responseId = service.newId();
  const acceptance = await acceptOr(creation, responseId, () => undefined);
  if (acceptance.kind === 'duplicate') return answerDuplicate(creation, acceptance.responseId);
  reply.header('location', `${dialect.mount}/responses/${responseId}`);
  return sendBody(reply, dialect, acceptance.response);
}

/** The same request came before: its caller gets the one response there is, in the mode it asks for now. */
async function answerDuplicate(creation: Creation, responseId: string): Promise<FastifyReply> {
  const { service, request, reply, body, dialect, interrupted } = creation;
  const pending =
    body.stream === true || body.background === true ? undefined : service.relay.awaitEnd(responseId);
  try {
    // Attached first: an end that is written from here on arrives.
    await service.attach(responseId);
    const record = await service.find(responseId, request.caller.name);
    if (!record) throw refusal({ kind: 'gone' });
    // The first caller's process may have died between its accept and its job.
    if (record.status === 'queued' && !record.isEnqueued) {
      await service.accepting.enqueue(record.queue, responseId, {
        isBackground: record.request.background === true,
      });
    }
    if (record.end) reply.header('idempotent-replayed', 'true');
    if (body.stream === true) {
      const obfuscate = body.stream_options?.include_obfuscation === true;
      return await followStored({
        service,
        dialect,
        request,
        reply,
        record,
        cursor: -1,
        obfuscate,
        interrupted,
      });
    }
    if (!pending || record.end) return sendBody(reply, dialect, responseOf(record));
    return await waitForWhole({ ...creation, responseId, pending, accepted: acceptedResponse(record) });
  } finally {
    pending?.close();
    service.ending.callerLeft(responseId, { isInterrupted: interrupted.aborted });
  }
}

/** Accepts, and puts where the tenant stands with its limit on the reply, whichever way it goes. */
async function acceptOr(creation: Creation, responseId: string, refused: () => void): Promise<Acceptance> {
  const { service, request, reply, body, idempotencyKey } = creation;
  try {
    const acceptance = await service.accepting.accept({
      responseId,
      request: body,
      caller: request.caller,
      requestId: request.id,
      idempotencyKey,
    });
    if (acceptance.kind === 'accepted') reply.headers(rateLimitHeaders(acceptance.rate));
    return acceptance;
  } catch (error) {
    refused();
    if (error instanceof RateLimited) reply.headers(rateLimitHeaders(error.rate));
    throw error;
  }
}

function presentationOf(request: FastifyRequest, body: CreateResponse, dialect: Dialect) {
  return {
    dialect,
    obfuscate: body.stream_options?.include_obfuscation === true,
    specificationNames: request.headers['openresponses-version'] !== undefined,
  };
}

function sendBody(reply: FastifyReply, dialect: Dialect, response: Response): FastifyReply {
  return reply
    .header('content-type', 'application/json; charset=utf-8')
    .send(responseBody(dialect, response));
}

/** 1 to 255 visible ASCII characters. */
function readIdempotencyKey(request: FastifyRequest): string | undefined {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key === 'string' && /^[\x21-\x7e]{1,255}$/.test(key)) return key;
  throw new ServiceError('invalid_value', "'Idempotency-Key' must be 1 to 255 visible ASCII characters.", {
    param: 'Idempotency-Key',
  });
}
