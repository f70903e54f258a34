import type { RequestTrace, Telemetry } from '@sluice/runtime';
import type { FastifyInstance } from 'fastify';
import { whenOver } from './unread-answers.ts';

/** Begins the trace of a request that came with this `traceparent`. */
export type BeginTrace = (traceparent: unknown) => RequestTrace;

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined while traces are off, and for requests without a key. */
    trace: RequestTrace | undefined;
  }
}

/** The status that proxies write down of a request whose caller left before it was answered. No answer carries it. */
const callerLeft = 499;

/** Says of each request that it is over: answered, or left by its caller. It comes before hooks that can refuse a request. */
export function registerAnswered(app: FastifyInstance, telemetry: Telemetry, isDebug: boolean): void {
  app.decorateRequest('trace');
  app.addHook('onRequest', (request, reply, done) => {
    // The hook `onResponse` does not run for a caller who left.
    whenOver(reply.raw, () => {
      const route = request.routeOptions.url ?? 'unknown';
      const { method, trace } = request;
      const { elapsedTime: elapsedMs, raw } = reply;
      const status = raw.headersSent ? raw.statusCode : callerLeft;
      telemetry.emit('request.answered', { route, method, status, elapsedMs, trace });
      if (isDebug) request.log.debug({ route, status, elapsedMs: Math.round(elapsedMs) }, 'answered');
    });
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
