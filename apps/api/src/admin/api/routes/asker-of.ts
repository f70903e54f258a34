import type { Asker } from '@sluice/operator';
import type { FastifyRequest } from 'fastify';

/** The operator behind a request, as the audit log names him. */
export function askerOf({ raw }: FastifyRequest): Asker {
  return { address: raw.socket.remoteAddress ?? '' };
}
