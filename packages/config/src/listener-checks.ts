import type { Explanation } from './explain-issue.ts';
import { isLoopback, overlaps } from './hosts.ts';
import { listenDefaults } from './settings-schema.ts';

/** The valid settings of the listeners; invalid ones are absent. */
export interface ListenerOutline {
  host?: string | undefined;
  port?: number | undefined;
  adminHost?: string | undefined;
  adminPort?: number | undefined;
  adminToken?: string | undefined;
  adminActionToken?: string | undefined;
}

/** Checks the rules between the listeners and their credentials. */
export function checkListeners(server: ListenerOutline): Explanation[] {
  const host = server.host ?? listenDefaults.host;
  const port = server.port ?? listenDefaults.port;
  const adminHost = server.adminHost ?? listenDefaults.adminHost;
  const adminPort = server.adminPort ?? listenDefaults.adminPort;
  const found: Explanation[] = [];
  if (!isLoopback(adminHost) && server.adminToken === undefined) {
    found.push({
      path: ['server', 'adminHost'],
      message:
        'is not a loopback address and there is no admin token; set ADMIN_TOKEN or listen on 127.0.0.1',
    });
  }
  found.push(...checkActionToken({ ...server, adminHost }));
  if (port !== 0 && port === adminPort && overlaps(host, adminHost)) {
    found.push({
      path: ['server', 'adminPort'],
      message: `is the port of the API (${port}); choose another`,
    });
  }
  return found;
}

/** A token that permits changes must be hard to guess on a listener that other machines reach. */
const shortestActionToken = 16;

function checkActionToken({
  adminHost,
  adminToken,
  adminActionToken: token,
}: ListenerOutline & { adminHost: string }): Explanation[] {
  if (token === undefined) return [];
  const path = ['server', 'adminActionToken'];
  if (token === adminToken) {
    return [{ path, message: 'is the admin token, which may only look; choose another' }];
  }
  if (isLoopback(adminHost) || token.length >= shortestActionToken) return [];
  const message = `is shorter than ${shortestActionToken} characters and the admin listener is not on loopback; choose a longer one`;
  return [{ path, message }];
}
