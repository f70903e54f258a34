import { ServiceError } from '@sluice/contract';
import type { ApiBatches } from './batches/api-batches.ts';
import type { Files } from '@sluice/files';
import type { FailedLogins, Logger, Readiness, Telemetry } from '@sluice/runtime';
import type { LiveSettings } from '@sluice/tenants';
import type { WebhookEndpoints } from '@sluice/webhooks';
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import type { ApiUsage } from './api-usage.ts';
import type { BodyBudget } from './bodies/body-budget.ts';
import type { JsonReader } from './bodies/json-reader.ts';
import type { OpenRequests } from './open-requests.ts';
import { registerApiReference } from './plugins/api-reference.ts';
import { registerAuthentication } from './plugins/authentication.ts';
import { answerBrokenRequest } from './plugins/broken-requests.ts';
import { crossOriginHeaders, registerCrossOrigin } from './plugins/cross-origin.ts';
import { registerDraining } from './plugins/draining.ts';
import { asServiceError, registerErrorHandler, sendError } from './plugins/error-handler.ts';
import { registerFormBody } from './plugins/form-body.ts';
import { registerJsonBody } from './plugins/json-body.ts';
import {
  contextHeaders,
  processingMs,
  registerRequestContext,
  requestId,
} from './plugins/request-context.ts';
import { type BeginTrace, registerAnswered, registerTraces } from './plugins/request-trace.ts';
import { RequestLogger } from './request-logger.ts';
import { serveInTurn } from './requests-in-turn.ts';
import { dialects } from './responses/dialect.ts';
import type { Responses } from './responses/responses.ts';
import { registerReadLimits } from './plugins/read-limits.ts';
import type { ReadLimits } from './read-limits.ts';
import { isSocketUpgrade, listenForUpgrades, registerUpgrades } from './plugins/upgrades.ts';
import { registerUnreadAnswers } from './plugins/unread-answers.ts';
import { registerRoute } from './route.ts';
import { healthRoutes, routes } from './routes.ts';
import type { SocketConnections } from './websocket/socket-connections.ts';

export interface AppDependencies {
  responses: Responses;
  live: Pick<LiveSettings, 'keys' | 'limits'>;
  failedLogins: FailedLogins;
  readLimits: ReadLimits;
  open: OpenRequests;
  telemetry: Telemetry;
  /** Absent while traces are off. */
  beginTrace?: BeginTrace | undefined;
  readiness: () => Promise<Readiness>;
  /** Whether the process has been told to stop. */
  isStopping: () => boolean;
  logger: Logger;
  bodyBudget: BodyBudget;
  json: JsonReader;
  sockets: SocketConnections;
  /** Undefined where webhooks are switched off. */
  webhooks?: WebhookEndpoints | undefined;
  /** Undefined where usage is not counted. */
  usage?: ApiUsage | undefined;
  /** Undefined where files are switched off. */
  files?: Files | undefined;
  batches?: Pick<ApiBatches, 'batches' | 'messageBatches'> | undefined;
  /** The origins whose pages may call the API from a browser; none by default. */
  corsOrigins?: readonly string[] | undefined;
  /** How long a reader may take nothing of its answer, in milliseconds; half a minute by default. */
  stalledMs?: number | undefined;
  /** How long a long-poll waits, in milliseconds; 25 seconds by default. */
  longPollMs?: number | undefined;
  /** Unix seconds, shown as the age of models. */
  startedAt: number;
}

/** Limits of a connection; a client that is slower than these is an attack or a defect. */
const connection = {
  requestTimeout: 30_000,
  headersTimeout: 10_000,
  /** Longer than load balancers keep an idle connection, so that they close first. */
  keepAliveTimeout: 72_000,
  maxHeaderSize: 32 * 1024,
  connectionsCheckingInterval: 5_000,
};
const maxConnections = 20_000;
const maxRequestsPerSocket = 10_000;

/** Builds the HTTP edge: routes at both mounts, and everything a request meets on its way. Opens no socket. */
export function buildApp(dependencies: AppDependencies): FastifyInstance {
  const { telemetry, logger, corsOrigins = [] } = dependencies;
  const isDebug = logger.isLevelEnabled('debug');
  const loggerInstance: FastifyBaseLogger = dependencies.logger;
  const app = fastify({
    loggerInstance,
    childLoggerFactory: (_logger, bindings) => new RequestLogger(dependencies.logger, bindings),
    // The outcome of a request is logged where it is decided.
    logController: new LogController({ disableRequestLogging: true }),
    requestTimeout: connection.requestTimeout,
    keepAliveTimeout: connection.keepAliveTimeout,
    maxRequestsPerSocket,
    // A draining process finishes what comes in over connections it has.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    http: {
      // Refused by a check of ours, which answers with the envelope that Node's own leaves out.
      requireHostHeader: false,
      maxHeaderSize: connection.maxHeaderSize,
      headersTimeout: connection.headersTimeout,
      connectionsCheckingInterval: connection.connectionsCheckingInterval,
      shouldUpgradeCallback: isSocketUpgrade,
    },
    genReqId: (request) => requestId(request.headers),
    // An id that is too long is an unknown one; no route has a pattern that length could hurt.
    routerOptions: { maxParamLength: connection.maxHeaderSize },
    clientErrorHandler: answerBrokenRequest,
    frameworkErrors: (error, request, reply) => {
      const known = asServiceError(error) ?? new ServiceError('invalid_request');
      // No hook runs for these.
      reply.headers({
        ...contextHeaders(request),
        ...crossOriginHeaders(corsOrigins, request.headers.origin),
        'openai-processing-ms': processingMs(reply),
      });
      void sendError(reply, known);
    },
  });
  app.server.maxConnections = maxConnections;
  // The same for an expectation nobody meets.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  serveInTurn(app.server);
  listenForUpgrades(app);
  registerErrorHandler(app, logger);
  registerAnswered(app, telemetry, isDebug);
  registerCrossOrigin(app, corsOrigins);
  registerRequestContext(app);
  registerJsonBody(app, {
    bodyBytes: () => dependencies.live.limits.bodyBytes,
    budget: dependencies.bodyBudget,
    telemetry,
  });
  registerFormBody(app);
  registerDraining(app, dependencies);
  registerUnreadAnswers(app, dependencies);
  registerApiReference(app);
  for (const route of healthRoutes) registerRoute(app, route, dependencies);
  for (const dialect of dialects) {
    void app.register(
      (mount, _options, done) => {
        registerAuthentication(mount, dependencies);
        registerTraces(mount, dependencies.beginTrace);
        registerReadLimits(mount, dependencies);
        registerUpgrades(mount, { dialect, sockets: dependencies.sockets });
        for (const route of routes)
          registerRoute(mount, route, {
            ...dependencies,
            dialect,
            webhooks: dependencies.webhooks,
            usage: dependencies.usage,
            files: dependencies.files,
            batches: dependencies.batches?.batches,
            messageBatches: dependencies.batches?.messageBatches,
          });
        done();
      },
      { prefix: dialect.mount },
    );
  }
  return app;
}
