import { randomBytes } from 'node:crypto';
import { isLoopback } from './hosts.ts';
import { keepSecret, type SecretKind } from './kept-secret.ts';
import type { Settings } from './settings.ts';

const kind: SecretKind = {
  file: 'development-action-token',
  make: () => `act-sluice-dev-${randomBytes(24).toString('base64url')}`,
  isWellFormed: (plain) => /^act-sluice-dev-[A-Za-z0-9_-]{32}$/.test(plain),
  otherwise: 'set ADMIN_ACTION_TOKEN',
};

/**
 * The action token of a service without a configured one, which it makes once and keeps like the development key. Undefined
 * if one is configured, or if other machines can reach the admin listener: nothing can be changed there then.
 */
export async function developmentActionToken({
  server,
  dataDir,
}: Pick<Settings, 'server' | 'dataDir'>): Promise<string | undefined> {
  if (server.adminActionToken !== undefined || !isLoopback(server.adminHost)) return undefined;
  return (await keepSecret(dataDir, kind)).plain;
}
