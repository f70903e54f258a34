import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { describeFlags, wantsHelp } from './command-line.ts';
import { describeSettings } from './describe-settings.ts';
import { loadSettings } from './load-settings.ts';

const file = `
providers:
  - { id: up, type: openai-chat, baseUrl: "http://up.example/v1", apiKey: CANARY-1, headers: { x-token: CANARY-2 } }
models: [{ id: m, routes: [{ provider: up }] }]
keys: [{ name: team-a, key: CANARY-3, limits: { queued: 7 } }]
`;
const env = { REDIS_URL: 'redis://user:CANARY-4@redis.example:6380/2', ADMIN_TOKEN: 'CANARY-5' };

describe('describeSettings', () => {
  it('shows what is in effect and no secret', () => {
    const settings = loadSettings({ env, argv: [], cwd: '/', readFile: () => file });
    const text = describeSettings(settings);
    expect(text).not.toContain('CANARY');
    expect(text).not.toContain(settings.keys[0]?.hash);
    expect(parse(text)).toMatchObject({
      server: { port: 3000, adminToken: '(set)' },
      redisUrl: 'redis://redis.example:6380/2',
      providers: [
        { id: 'up', baseUrl: 'http://up.example/v1', apiKey: '(set)', headers: { 'x-token': '(set)' } },
      ],
      models: [{ id: 'm', queue: 'm' }],
      keys: [{ name: 'team-a', hash: '(set)', limits: { queued: 7, readsPerMinute: 6000 } }],
      timeouts: { queueMs: 600_000 },
    });
    expect(text.split('\n')[0]).toBe('# /sluice.yaml');
  });
});

describe('describeFlags', () => {
  it('lists the flags of a role with variables, units and defaults', () => {
    const text = describeFlags('start');
    expect(text).toMatch(/--port VALUE +Port of the API; 0 takes a free one\. \[PORT, 3000\]/);
    expect(text).toMatch(/--drain-timeout-ms VALUE .*\(ms\) \[DRAIN_TIMEOUT_MS, 30000\]/);
    expect(text).toContain('--workers');
    expect(describeFlags('api')).not.toContain('--workers');
  });
});

describe('wantsHelp', () => {
  it('sees --help and -h anywhere', () => {
    expect(wantsHelp(['--port', '--help'])).toBe(true);
    expect(wantsHelp(['-h'])).toBe(true);
    expect(wantsHelp(['--host', 'help'])).toBe(false);
  });
});
