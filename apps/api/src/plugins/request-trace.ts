import type { RequestTrace, Telemetry } from '@sluice/runtime';
import type { FastifyInstance } from 'fastify';

/** Begins the trace of a request that came with this `traceparent`. */
export type BeginTrace = (traceparent: unknown) => RequestTrace;

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined while traces are off, and for requests without a key. */
    trace: RequestTrace | undefined;
  }
}

/** Says of each request that it was answered. */
export function registerAnswered(app: FastifyInstance, telemetry: Telemetry, isDebug: boolean): void {
  app.decorateRequest('trace');
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'unknown';
    const { method, trace } = request;
    const { statusCode: status, elapsedTime: elapsedMs } = reply;
    telemetry.emit('request.answered', { route, method, status, elapsedMs, trace });
    if (isDebug) request.log.debug({ route, status, elapsedMs: Math.round(elapsedMs) }, 'answered');
    done();
  });
}

/** Begins the trace of each request that has a key: anybody else could push the spans of those out of their queue. */
export function registerTraces(mount: FastifyInstance, beginTrace: BeginTrace | undefined): void {
  if (!beginTrace) return;
  mount.addHook('onRequest', (request, _reply, done) => {
    request.trace = beginTrace(request.headers['traceparent']);
    done();
  });
}
