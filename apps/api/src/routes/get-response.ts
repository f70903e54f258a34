import { ServiceError } from '@sluice/contract';
import { responseOf } from '@sluice/event-log';
import type { FastifyInstance } from 'fastify';
import { type Dialect, responseBody } from '../dialect.ts';
import { followStored } from '../follow-stored.ts';
import type { OpenRequests } from '../open-requests.ts';
import { type Query, readBoolean, readInclude } from '../query.ts';
import { findResponse, type ResponseParams } from '../response-params.ts';
import type { ResponseService } from '../response-service.ts';

export interface GetResponseOptions {
  dialect: Dialect;
  service: ResponseService;
  open: OpenRequests;
}

/** `GET /responses/{id}`: a response as it stands now or, with `stream=true`, its events after a cursor. */
export function registerGetResponse(app: FastifyInstance, options: GetResponseOptions): void {
  const { dialect, service, open } = options;
  app.get<{ Params: ResponseParams; Querystring: Query }>('/responses/:id', async (request, reply) => {
    const { query } = request;
    readInclude(query);
    const isStream = readBoolean(query, 'stream');
    const cursor = isStream ? readCursor(query.starting_after) : -1;
    const obfuscate = readBoolean(query, 'include_obfuscation');
    const record = await findResponse(service, request);
    if (!isStream) {
      return reply
        .header('content-type', 'application/json; charset=utf-8')
        .send(responseBody(dialect, responseOf(record)));
    }
    if (!(await service.hasEvents(record))) {
      throw new ServiceError(
        'stream_expired',
        'The events of this response can no longer be streamed; read it without stream=true.',
        { param: 'stream' },
      );
    }
    return open.run((interrupted) =>
      followStored({ service, dialect, request, reply, record, cursor, obfuscate, interrupted }),
    );
  });
}

/** A whole number from 0 on; absent, everything is sent. */
function readCursor(value: unknown): number {
  if (value === undefined) return -1;
  const cursor = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN;
  if (Number.isSafeInteger(cursor)) return cursor;
  throw new ServiceError(
    'invalid_value',
    "'starting_after' must be the number of an event: a whole number from 0.",
    {
      param: 'starting_after',
    },
  );
}
