import { loadSettings, type SettingsSources } from '@sluice/config';
import { createLogger } from '@sluice/runtime';
import { describe, expect, it } from 'vitest';
import { discover } from './discover.ts';

/** Looks with a key that is left alone, so that whoever looks says so and sends nothing to a vendor. */
async function look(more: Partial<SettingsSources>) {
  const env = {
    ANTHROPIC_API_KEY: 'sk-secret',
    ANTHROPIC_BASE_URL: 'https://gateway.example.com',
    ...more.env,
  };
  const sources: SettingsSources = { argv: [], cwd: '/nonexistent', role: 'start', ...more, env };
  const logger = createLogger({ name: 'test', level: 'silent' });
  return discover(loadSettings(sources), { sources, signal: new AbortController().signal, logger });
}

describe('looking for what is plainly there', () => {
  it('is done without a settings file', async () => {
    expect((await look({})).lines[0]).toContain('ANTHROPIC_API_KEY is left alone');
  });

  it.each([
    ['with a settings file', { readFile: () => 'logLevel: warn' }],
    ['beyond loopback', { env: { HOST: '0.0.0.0' } }],
    ['when it is turned off by a variable', { env: { SLUICE_DISCOVER: 'off' } }],
    ['when it is turned off by a flag', { argv: ['--discover', 'off'] }],
  ])('is not done %s', async (_, more) => {
    const { settings, env, lines } = await look(more);
    expect({ env, lines }).toEqual({ env: {}, lines: [] });
    expect(settings.models.map(({ id }) => id)).toEqual(['simulator', 'simulator-reasoning']);
  });
});
