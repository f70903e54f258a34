import { isTerminal } from '@sluice/contract';
import { acceptedResponse, type ResponseRecord } from '@sluice/event-log';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Dialect } from './dialect.ts';
import type { ResponseService } from './response-service.ts';
import { type StreamEnding, streamResponse } from './stream-response.ts';

export interface FollowStoredOptions {
  service: ResponseService;
  dialect: Dialect;
  request: FastifyRequest;
  reply: FastifyReply;
  record: ResponseRecord;
  /** The last number the reader has; -1 for none. */
  cursor: number;
  obfuscate: boolean;
  interrupted: AbortSignal;
}

/**
 * Streams a response that was accepted earlier, by whichever process, from a cursor on: what is logged, then
 * what comes. A response that was not created as a stream, or whose log is gone, has its events derived.
 */
export async function followStored(options: FollowStoredOptions): Promise<FastifyReply> {
  const { service, request, reply, record, cursor, interrupted } = options;
  const derived = !(record.streams && (await service.hasEvents(record)));
  const subscription = service.relay.follow(record.id, { cursor, readFirst: true, derived });
  const isOpen = !isTerminal(record.status);
  let ending: StreamEnding = 'left';
  try {
    if (isOpen) await service.attach(record.id);
    ending = await streamResponse({
      reply,
      subscription,
      accepted: acceptedResponse(record),
      cursor,
      opening: [],
      isRunning: record.status !== 'queued',
      presentation: {
        dialect: options.dialect,
        obfuscate: options.obfuscate,
        specificationNames: request.headers['openresponses-version'] !== undefined,
      },
      interrupted,
    });
    if (ending === 'left') request.log.info({ responseId: record.id }, 'reader left');
    return reply;
  } finally {
    subscription.close();
    if (isOpen && ending !== 'whole') {
      service.ending.callerLeft(record.id, { isInterrupted: ending === 'interrupted' });
    }
  }
}
