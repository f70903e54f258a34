import { type Environment, loadSettings, type Settings } from '@sluice/config';
import { FatalError } from '@sluice/runtime';

/**
 * The settings of the service that an operator's command is for. `config` is the value of `--config`.
 *
 * @throws {FatalError} when they do not say where Redis is.
 */
export function loadWithRedis(
  config: unknown,
  { env, cwd }: { env: Environment; cwd: string },
): Settings & { redisUrl: string } {
  const settings = loadSettings({ env, argv: typeof config === 'string' ? ['--config', config] : [], cwd });
  const { redisUrl } = settings;
  if (redisUrl === undefined) {
    throw new FatalError(
      "REDIS_URL is not set: name the Redis of the service. 'sluice start' prints that of its own store.",
    );
  }
  return { ...settings, redisUrl };
}
