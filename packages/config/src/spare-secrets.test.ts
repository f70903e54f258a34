import { describe, expect, it } from 'vitest';
import { loadSettings } from './load-settings.ts';

const file = `
server: { host: 0.0.0.0, adminHost: 0.0.0.0, adminToken: "\${A}", adminActionToken: "\${B}" }
redisUrl: "redis://:\${C}@127.0.0.1:1"
encryptionKeys: ["\${D}"]
providers:
  - { id: a, type: openai-chat, baseUrl: http://127.0.0.1:1, apiKey: "\${E}", headers: { x-key: "Bearer \${F}" } }
  - { id: b, type: ai-sdk, package: "@ai-sdk/anthropic", options: { apiKey: "\${G}" } }
models: [{ id: m, routes: [{ provider: a }, { provider: b }] }]
keys:
  - { name: one, key: "\${H}" }
  - { name: two, key: "\${I}" }
  - { name: three, hash: "sha256:\${J}" }
files: { bucket: { name: bucket, accessKeyId: "\${K}", secretAccessKey: "\${L}" } }
usage: { databaseUrl: "\${M}" }
`;
const load = (text: string, neededSecrets?: string[], env = {}) =>
  loadSettings({
    env,
    argv: [],
    cwd: '/srv',
    readFile: () => text,
    ...(neededSecrets && { neededSecrets }),
  });

describe('settings without the variables of their secrets', () => {
  it('are those of the file, with nothing in place of addresses and with stand-ins for other secrets', () => {
    const settings = load(file, []);
    expect(settings).not.toHaveProperty('redisUrl');
    expect(settings.usage).not.toHaveProperty('databaseUrl');
    expect(settings.models).toMatchObject([{ id: 'm' }]);
    expect(settings.keys.map(({ name }) => name)).toEqual(['one', 'two', 'three']);
    expect(new Set(settings.keys.map(({ hash }) => hash)).size).toBe(3);
    expect(JSON.stringify(settings)).not.toContain('${');
    expect(() => load(file)).toThrow('13 problems');
  });

  it('have the secrets whose variables are set', () => {
    const { providers, redisUrl } = load(file, [], { C: 'c', E: 'e' });
    expect({ providers, redisUrl }).toMatchObject({
      providers: [{ apiKey: 'e' }, { id: 'b' }],
      redisUrl: 'redis://:c@127.0.0.1:1',
    });
  });

  it.each([
    ['a secret that is needed', file, 'usage.databaseUrl: reads the environment variable M'],
    ['what is no secret', 'keyPrefix: "${A}"', 'keyPrefix: reads the environment variable A'],
    ['what names no variable', 'encryptionKeys: ["${A}${0}"]', 'encryptionKeys[0]: has a ${…} that does not'],
  ])('are refused for %s', (_, text, problem) => {
    expect(() => load(text, ['usage.databaseUrl'])).toThrow(`bad configuration: ${problem}`);
  });
});
