import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listenFailure, type ListenTarget } from './fatal-error.ts';
import { loggedError } from './logged-error.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';
import type { FailedLogins } from './failed-logins.ts';
import { type OperatorRefusal, refuseOperator } from './operator-access.ts';

/** Whether the process can do its work now. Anybody can read the checks, so they hold no addresses and no secrets. */
export interface Readiness {
  isReady: boolean;
  checks: Record<string, string | number | boolean>;
}

export interface HealthServerOptions extends ListenTarget {
  logger: Logger;
  metrics: Pick<Metrics, 'registry'>;
  /** The token that every page but health asks for. Without one, those pages answer this machine alone. See `refuseOperator`. */
  token: string | undefined;
  failedLogins: FailedLogins;
  /** Asked at each `GET /readyz`; one that throws or takes more than a second counts as not ready. */
  readiness: () => Readiness | Promise<Readiness>;
  /** Further pages for the operator: the answer, as JSON, to a GET of each path. */
  reports?: ReadonlyMap<string, () => object>;
}

export interface HealthServer {
  /** The port it listens on, which differs from the requested one only if that was 0. */
  port: number;
  /** Closes the listener and every connection; twice is fine. */
  stop(): Promise<void>;
}

/**
 * Serves `GET /healthz` (200 as long as the event loop turns), `GET /readyz` (200 or 503 with the checks) and
 * `GET /metrics` for a process without an HTTP edge of its own, and its reports. The first two answer anybody, and everything
 * else the operator alone. Rejects with a `FatalError` when the port is taken.
 */
export async function startHealthServer(options: HealthServerOptions): Promise<HealthServer> {
  const server = createServer({ requestTimeout: 5000, headersTimeout: 5000 }, (request, response) => {
    void answer(options, request, response);
  });
  server.maxConnections = 100;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(listenFailure(error, options)));
    server.listen(options.port, options.host, resolve);
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : options.port,
    stop: () =>
      new Promise((resolve) => {
        // An error would only mean that the server is closed already.
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const READINESS_TIMEOUT_MS = 1000;

/** Paths that load balancers and supervisors request, without a token. */
const healthPaths: readonly string[] = ['/healthz', '/readyz'];

async function answer(
  options: HealthServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const path = (request.url ?? '/').split('?', 1)[0] ?? '';
    const report = options.reports?.get(path);
    const refused = healthPaths.includes(path) ? undefined : await refuseOperator(request, options);
    if (refused) sendRefusal(response, refused);
    else if (request.method !== 'GET' && request.method !== 'HEAD')
      sendJson(response, 405, { status: 'error' });
    else if (path === '/healthz') sendJson(response, 200, { status: 'ok' });
    else if (path === '/readyz') await sendReadiness(options, response);
    else if (path === '/metrics') await sendMetrics(options, response);
    else if (report) sendJson(response, 200, report());
    else sendJson(response, 404, { status: 'error' });
  } catch (error) {
    options.logger.error({ err: loggedError(error) }, 'health request failed');
    if (!response.headersSent) sendJson(response, 500, { status: 'error' });
  }
}

async function sendMetrics({ metrics }: HealthServerOptions, response: ServerResponse): Promise<void> {
  const { registry } = metrics;
  send(response, 200, registry.contentType, await registry.metrics());
}

function sendRefusal(response: ServerResponse, { status, headers }: OperatorRefusal): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  sendJson(response, status, { status: 'error' });
}

async function sendReadiness(options: HealthServerOptions, response: ServerResponse): Promise<void> {
  const { isReady, checks } = await readinessInTime(options);
  sendJson(response, isReady ? 200 : 503, { status: isReady ? 'ready' : 'not_ready', checks });
}

async function readinessInTime({ readiness, logger }: HealthServerOptions): Promise<Readiness> {
  const late = Promise.withResolvers<Readiness>();
  const timer = setTimeout(() => {
    late.resolve({ isReady: false, checks: { timed_out: true } });
  }, READINESS_TIMEOUT_MS);
  try {
    return await Promise.race([Promise.resolve().then(readiness), late.promise]);
  } catch (error) {
    logger.warn({ err: loggedError(error) }, 'readiness check failed');
    return { isReady: false, checks: {} };
  } finally {
    clearTimeout(timer);
  }
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  send(response, status, 'application/json; charset=utf-8', JSON.stringify(body));
}

function send(response: ServerResponse, status: number, contentType: string, body: string): void {
  response.writeHead(status, {
    'content-type': contentType,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  response.end(body);
}
