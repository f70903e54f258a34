import { ServiceError } from '@sluice/contract';
import type { FastifyInstance } from 'fastify';

/**
 * Refuses the upgrade to a WebSocket. Clients that try one fall back to HTTP when they get this error. Other upgrades, such as
 * the `h2c` that Java's client offers with each request, are passed over, as a server may (RFC 9110, section 7.8).
 */
export function registerUpgrades(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const { upgrade = '' } = request.headers;
    const isWebSocket = upgrade.split(',').some((protocol) => protocol.trim().toLowerCase() === 'websocket');
    done(isWebSocket ? new ServiceError('upgrade_required') : undefined);
  });
}
