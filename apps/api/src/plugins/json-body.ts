import { ServiceError } from '@sluice/contract';
import type { Telemetry } from '@sluice/runtime';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { BodyBudget, BodyReservation } from '../bodies/body-budget.ts';
import { receiveBody } from '../bodies/receive-body.ts';
import { tellRefusal } from '../refused-creates.ts';
import { whenOver } from './unread-answers.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route looks at a body. The body of any other request is not read. */
    takesBody?: boolean;
  }
  interface FastifyRequest {
    /** The bytes that the body of this request holds in the budget of the process. */
    bodyReservation: BodyReservation | undefined;
    /** Whether the body was refused before all of it had come. */
    isBodyRefused: boolean;
  }
}

export interface JsonBodyOptions {
  /** Most bytes of a body, at this moment. */
  bodyBytes: () => number;
  budget: BodyBudget;
  telemetry: Telemetry;
}

/**
 * Takes bodies of `application/json` in UTF-8 and no others, and leaves their bytes in `request.body` as they are. What
 * they hold in the budget is given back when the accept is over (see `releaseBody`), when the answer is, or when
 * the caller has left.
 */
export function registerJsonBody(
  app: FastifyInstance,
  { bodyBytes, budget, telemetry }: JsonBodyOptions,
): void {
  app.removeAllContentTypeParsers();
  app.decorateRequest('bodyReservation');
  app.decorateRequest('isBodyRefused', false);
  app.addContentTypeParser('application/json', (request, payload, done) => {
    const reservation = request.bodyReservation;
    if (!reservation) {
      done(null, undefined);
      return;
    }
    receiveBody(
      payload,
      { length: announcedLength(request), most: bodyBytes(), reservation },
      (error, body) => {
        if (error) {
          reservation.release();
          request.isBodyRefused = true;
          const isCreate = request.routeOptions.config.isRead !== true;
          if (isCreate) tellRefusal(telemetry, { tenant: request.key.name, model: '' }, error);
        }
        // Some clients name a content type where there is no content; routes that need a body ask for it.
        done(error, body?.length === 0 ? undefined : body);
      },
    );
  });
  // The framework closes the connection of a refused body. A caller that still writes would find it reset and could lose
  // the answer, so the rest flows on unread, within the time that any request has.
  app.addHook('onSend', (request, reply, _payload, done) => {
    if (request.isBodyRefused) reply.removeHeader('connection');
    done();
  });
  // Not before it is known who asks.
  app.addHook('preParsing', (request, reply, _payload, done) => {
    if (request.routeOptions.config.takesBody === true) {
      request.bodyReservation = budget.open(request.key.name);
      // The framework has no hook for a caller that left before its answer.
      whenOver(reply.raw, () => releaseBody(request));
    }
    const encoding = request.headers['content-encoding'];
    const charset = /charset\s*=\s*"?([^;"\s]+)/i.exec(request.headers['content-type'] ?? '')?.[1];
    if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
      done(new ServiceError('unsupported_media_type', 'The body must not be compressed.'));
    } else if (charset !== undefined && !/^utf-?8$/i.test(charset)) {
      done(new ServiceError('unsupported_media_type', 'The body must be encoded in UTF-8.'));
    } else {
      done();
    }
  });
}

/** Lets the bytes of a body go, because its accept is over. Calling it again does nothing. */
export function releaseBody(request: FastifyRequest): void {
  request.body = undefined;
  request.bodyReservation?.release();
}

function announcedLength({ headers }: FastifyRequest): number | undefined {
  const length = headers['content-length'];
  return length === undefined ? undefined : Number(length);
}
