import { ServiceError } from '@sluice/contract';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import { isBusy } from '../requests-in-turn.ts';
import { type Dialect, dialects } from '../responses/dialect.ts';
import type { SocketConnections } from '../websocket/socket-connections.ts';
import { keyOf } from './authentication.ts';

/** Where the protocol of responses is spoken over WebSockets. */
const socketPaths: ReadonlySet<string> = new Set(dialects.map(({ mount }) => `${mount}/responses`));

/** The version of the protocol that everybody speaks (RFC 6455, section 4.1). */
const protocolVersion = '13';

interface Upgrade {
  connection: Duplex;
  /** Bytes of the connection that were read already. */
  head: Buffer;
  response: ServerResponse;
}

/** Upgrades that are under way. They pass through the hooks of their mount as other requests do. */
const upgrades = new WeakMap<IncomingMessage, Upgrade>();

/**
 * Says whether a request is for a WebSocket that may be opened. Node then leaves the connection to the listener for upgrades.
 * Others are requests as all are: `h2c`, which Java's client offers with each of them, is passed over, as a server may
 * (RFC 9110, section 7.8). So is one that comes before the answer to another request: there is no connection to hand over yet.
 */
export function isSocketUpgrade({ method, url = '', headers, socket }: IncomingMessage): boolean {
  const isAsked = method === 'GET' && asksForWebSocket(headers.upgrade);
  return isAsked && socketPaths.has(url.split('?', 1)[0] ?? '') && !isBusy(socket);
}

/** Sends upgrades through the routes, so that a refused one has the answer of any other request. */
export function listenForUpgrades(app: FastifyInstance): void {
  app.server.on('upgrade', (request: IncomingMessage, connection: Duplex, head: Buffer) => {
    connection.on('error', () => connection.destroy());
    const response = new ServerResponse(request);
    response.assignSocket(connection as Socket); // which it is, as http.Server documents
    // Node has handed the connection over, and no other request can come over it.
    response.shouldKeepAlive = false;
    response.once('finish', () => (connection as Socket).destroySoon()); // see above
    upgrades.set(request, { connection, head, response });
    app.routing(request, response);
  });
}

/** Opens the WebSockets of a mount, once it is known who asks. Clients that get an error instead fall back to HTTP. */
export function registerUpgrades(
  mount: FastifyInstance,
  { dialect, sockets }: { dialect: Dialect; sockets: SocketConnections },
): void {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    // The intake answers, and not a client that takes no answers.
    autoPong: false,
    // The intake refuses what is too large, which the library could not tell the client, and puts pieces together.
    maxPayload: 0,
    maxBufferedChunks: 256,
    maxFragments: 256,
  });
  const requestIds = new WeakMap<IncomingMessage, string>();
  server.on('headers', (lines, request) => lines.push(`x-request-id: ${requestIds.get(request) ?? ''}`));
  mount.addHook('onRequest', (request, reply, done) => {
    const upgrade = upgrades.get(request.raw);
    if (!upgrade) {
      done(asksForWebSocket(request.headers.upgrade) ? new ServiceError('upgrade_required') : undefined);
      return;
    }
    const { connection, head, response } = upgrade;
    const tenant = request.key.name;
    try {
      if (!sockets.isEnabled) throw new ServiceError('upgrade_required');
      checkHandshake(request);
      sockets.check(tenant);
    } catch (error) {
      done(error as Error); // only errors are thrown above
      return;
    }
    upgrades.delete(request.raw);
    reply.hijack();
    response.detachSocket(connection as Socket); // the one that was assigned
    requestIds.set(request.raw, request.id);
    server.handleUpgrade(request.raw, connection, head, (socket) => {
      sockets.add({
        socket,
        connection,
        tenant,
        plainKey: keyOf(request) ?? '',
        presentation: {
          dialect,
          obfuscate: false,
          specificationNames: request.headers['openresponses-version'] !== undefined,
        },
      });
    });
  });
}

/** Finds what the library would refuse in words of its own. */
function checkHandshake({ headers }: FastifyRequest): void {
  if (headers['sec-websocket-version'] !== protocolVersion) {
    throw new ServiceError('upgrade_required', 'WebSockets are spoken here in version 13 alone.');
  }
  if (!/^[+/0-9A-Za-z]{22}==$/.test(headers['sec-websocket-key'] ?? '')) {
    throw new ServiceError('invalid_request', "The header 'sec-websocket-key' is missing or wrong.");
  }
}

function asksForWebSocket(upgrade = ''): boolean {
  return upgrade.split(',').some((protocol) => protocol.trim().toLowerCase() === 'websocket');
}
