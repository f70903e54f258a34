import { describe, expect, it } from 'vitest';
import { hashKey } from './key-schema.ts';
import { ConfigError } from './config-error.ts';
import { loadSettings, type SettingsSources } from './load-settings.ts';

const noFile = () => {
  throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
};

/** The problems, each as `path: message`; fails when there are none. */
function faultsOf(file: string | undefined, sources: Partial<SettingsSources> = {}): string[] {
  const readFile = file === undefined ? noFile : () => file;
  try {
    loadSettings({ env: {}, argv: [], cwd: '/', readFile, ...sources });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    expect(error.exitCode).toBe(2);
    return error.problems.map(({ path, message }) => `${path}: ${message}`);
  }
  throw new Error('the settings are good');
}

const provider = '{ id: up, type: openai-chat, baseUrl: "http://up.example/v1" }';
const withProvider = (fields: string) =>
  `providers: [{ id: up, type: openai-chat, baseUrl: "http://up.example/v1", ${fields} }]\nmodels: [{ id: m, routes: [{ provider: up }] }]`;
const withServers = (fields: string) =>
  `providers: [{ id: up, type: openai-chat, ${fields} }]\nmodels: [{ id: m, routes: [{ provider: up }] }]`;
const withBaseUrl = (url: string) =>
  `providers: [{ id: up, type: openai-chat, baseUrl: "${url}" }]\nmodels: [{ id: m, routes: [{ provider: up }] }]`;
const withModels = (...models: string[]) =>
  `providers: [${provider}, { id: s, type: simulator }]\nmodels: [${models.join(', ')}]`;
const model = (id: string, fields = '') =>
  `{ id: ${id}, routes: [{ provider: up }]${fields && `, ${fields}`} }`;

/** Completes a file that has only one of the two sections that need each other. */
function others(file: string): string {
  if (file.startsWith('providers:') && !file.includes('\nmodels:')) {
    return `models: [{ id: m, routes: [{ provider: ${/id: ("[^"]*"|\w+)/.exec(file)?.[1]} }] }]`;
  }
  return file.startsWith('models:') ? 'providers: []' : '';
}

describe('a bad file', () => {
  it.each([
    // Shapes and types
    ['- 1', ': must be a mapping of settings, not a list'],
    ['just words', ': must be a mapping of settings, not text'],
    ['limits: 5', 'limits: must be a mapping of settings, not a number'],
    ['keys: { name: a }', 'keys: must be a list, not a mapping'],
    ['keys: [5]', 'keys[0]: must be a mapping of settings, not a number'],
    ['limits: { queued: "5" }', 'limits.queued: must be a whole number from 1 to 2000000, not text'],
    ['files: { bucket: {} }', 'files.bucket.name: is missing; give text'],
    [
      'files: { folder: /files, bucket: { name: abc } }',
      'files.bucket: stands in place of `folder`; remove one of the two',
    ],
    [
      'files: { bucket: { name: abc, accessKeyId: a } }',
      'files.bucket.secretAccessKey: is missing; give both parts of the access key, or none of them',
    ],
    [
      'files: { bytes: 5368709121, bucket: { name: abc } }',
      'files.bytes: is more than a bucket takes, which is 5368709120',
    ],
    [
      'files: { bucket: { name: abc, endpoint: "http://host/path" } }',
      'files.bucket.endpoint: must be an address such as https://storage.example.com, without credentials and path',
    ],
    [
      'limits: { bodyBytes: 200000000 }',
      'limits.bodyBytesInFlight: is less than twice `bodyBytes` (200000000); make it larger',
    ],
    [
      'limits: { bodyBytesInFlight: 100000000 }',
      'limits.bodyBytesInFlight: is less than twice `bodyBytes` (67108864); make it larger',
    ],
    ['limits: { queued: 1.5 }', 'limits.queued: must be a whole number from 1 to 2000000, not a fraction'],
    ['limits: { queued: }', 'limits.queued: must be a whole number from 1 to 2000000; it is empty'],
    ['limits: { queued: 0 }', 'limits.queued: must be a whole number from 1 to 2000000'],
    ['timeouts: { idleMs: -1 }', 'timeouts.idleMs: must be a whole number from 1 to 2147483647 ms'],
    ['timeouts: { idleMs: 2147483648 }', 'timeouts.idleMs: must be a whole number from 1 to 2147483647 ms'],
    ['timeouts: { idleMs: 99999999999999999999999 }', 'timeouts.idleMs: must be a whole number from 1 to'],
    ['timeouts: { idleMs: 1e999 }', 'timeouts.idleMs: must be a whole number from 1 to'],
    ['timeouts: { idleMs: .nan }', 'timeouts.idleMs: must be a whole number from 1 to'],
    ['logLevel: loud', 'logLevel: must be one of fatal, error, warn, info, debug, trace, silent'],
    ['dataDir: 5', 'dataDir: must be text, not a number; put it in quotes'],
    ['server: { port: 65536 }', 'server.port: must be a whole number from 0 to 65535'],
    ['server: { host: "a b" }', 'server.host: must be an IP address or a host name'],
    ['server: { adminToken: short }', 'server.adminToken: must be text of at least 8 characters'],
    [
      'server: { adminToken: one-token, adminActionToken: one-token }',
      'server.adminActionToken: is the admin token, which may only look; choose another',
    ],
    [
      'server: { adminHost: 0.0.0.0, adminToken: one-token, adminActionToken: fifteen-letters }',
      'server.adminActionToken: is shorter than 16 characters and the admin listener is not on loopback',
    ],
    ['redisUrl: http://redis:6379', 'redisUrl: must be an address such as redis://'],
    ['redisUrl: localhost', 'redisUrl: must be an address such as redis://'],
    ['recovery: { lockMs: 3000, stalledMs: 4000 }', 'recovery.stalledMs: is longer than `lockMs`'],
    ['recovery: { breaker: { openMs: 31000 } }', 'recovery.breaker.openMs: is longer than `longestOpenMs`'],
    [
      'recovery: { breaker: { failurePercent: 101 } }',
      'recovery.breaker.failurePercent: must be a whole number from 1 to 100',
    ],
    [
      withProvider('pressure: { adaptive: false, latencyTolerance: 3 }'),
      'providers[0].pressure.latencyTolerance: has no effect while `adaptive` is false; remove one of the two',
    ],
    [withProvider('pressure: { floor: 0 }'), 'providers[0].pressure.floor: must be a whole number from 1 to'],
    [withProvider('pressure: { latencyTolerance: 1 }'), 'providers[0].pressure.latencyTolerance: must be'],
    [withProvider('saturation: { most: 4 }'), 'providers[0].saturation.metricsUrl: is missing'],
    [
      withProvider('saturation: { metricsUrl: "ftp://up.example/metrics" }'),
      'providers[0].saturation.metricsUrl: must begin with http:// or https://',
    ],
    [
      withProvider('saturation: { metricsUrl: "http://me:secret@up.example/metrics" }'),
      'providers[0].saturation.metricsUrl: must not hold a user name or password',
    ],
    [
      withProvider('saturation: { metricsUrl: "http://up.example/metrics", metric: "a{b}" }'),
      'providers[0].saturation.metric: must be the name of a metric, without labels',
    ],
    [
      withProvider('saturation: { metricsUrl: "http://up.example/metrics", everyMs: 10 }'),
      'providers[0].saturation.everyMs: must be a whole number from 100',
    ],
    // Unknown names
    ['limit: { queued: 5 }', 'limit: is not a setting; did you mean "limits"?'],
    ['timeouts: { queue_ms: 5 }', 'timeouts.queue_ms: is not a setting; did you mean "queueMs"?'],
    ['dashboard: { zzz: 5 }', 'dashboard.zzz: is not a setting; known are keepCompleted, keepFailed'],
    ['__proto__: { port: 1 }', '__proto__: is not a setting'],
    ['constructor: 1', 'constructor: is not a setting'],
    // Providers
    ['models: []', 'models: is empty; name a model, or let a provider discover its own'],
    [
      'providers: [{ id: a }]',
      'providers[0].type: is missing; give one of simulator, openai-chat, openai-responses, ai-sdk',
    ],
    ['providers: [{ id: a, type: magic }]', 'providers[0].type: must be one of simulator, openai-chat,'],
    ['providers: [{ id: a, type: llama-cpp }]', 'providers[0].modelPath: is missing; give text'],
    ['providers: [{ id: a, type: ai-sdk }]', 'providers[0].package: is missing; give text'],
    [
      'providers: [{ id: a, type: ai-sdk, package: ../elsewhere }]',
      'providers[0].package: must be the name of an npm package',
    ],
    ['providers: [{ id: a, type: ai-sdk, package: fs }]', 'providers[0].package: is a module of Node.js'],
    [
      'providers: [{ id: a, type: ai-sdk, package: a, options: [sk-hidden] }]',
      'providers[0].options: must be a mapping of settings, not a list',
    ],
    [
      'providers: [{ id: a, type: llama-cpp, modelPath: /models/a.bin }]',
      'providers[0].modelPath: must be the path of a .gguf file',
    ],
    [
      'providers: [{ id: a, type: llama-cpp, modelPath: a.gguf, parallel: 0 }]',
      'providers[0].parallel: must be a whole number from 1 to 64',
    ],
    [
      'providers: [{ id: a, type: llama-cpp, modelPath: a.gguf, gpu: cuda }]',
      'providers[0].gpu: must be one of auto, off',
    ],
    [
      'providers: [{ type: simulator }, { id: s, type: simulator }]',
      'providers[0].id: is missing; give text',
    ],
    ['providers: [{ id: "a:b", type: simulator }]', 'providers[0].id: must be 1 to 64 letters'],
    [
      'providers: [{ id: a, type: simulator, sede: 1 }]',
      'providers[0].sede: is not a setting; did you mean "seed"?',
    ],
    [
      'providers: [{ id: a, type: simulator }, { id: a, type: simulator }]',
      'providers[1].id: "a" is also the id of',
    ],
    [withBaseUrl('up.example'), 'providers[0].baseUrl: must be an address'],
    [withBaseUrl('ftp://up.example'), 'providers[0].baseUrl: must begin with http:// or https://'],
    [withBaseUrl('http://user@up.example'), 'providers[0].baseUrl: must not hold a user name or password'],
    [withBaseUrl('http://up.example/v1?a=1'), 'providers[0].baseUrl: must end with the path'],
    [
      withServers('apiKey: a'),
      'providers[0].baseUrl: is missing; give the address of the API, or those of several servers as `replicas`',
    ],
    [withServers('replicas: []'), 'providers[0].replicas: must be a list with at least one entry'],
    [withServers('replicas: [up.example]'), 'providers[0].replicas[0]: must be an address'],
    [
      withServers('replicas: ["http://a/v1", "http://b/v1", "http://A:80/v1/"]'),
      'providers[0].replicas[2]: is the same server as providers[0].replicas[0]; remove one',
    ],
    [
      withProvider('replicas: ["http://a/v1"]'),
      'providers[0].replicas: stands in place of `baseUrl`; put every server here and remove `baseUrl`',
    ],
    [
      withServers('replicas: ["http://a/v1"], resolve: true'),
      'providers[0].resolve: finds the servers behind the name in `baseUrl`; remove it, or `replicas`',
    ],
    [
      withServers('baseUrl: "http://[::1]:8000/v1", resolve: true'),
      'providers[0].resolve: needs a name as the host of `baseUrl`, and there is an address; remove it',
    ],
    [withProvider('resolve: maybe'), 'providers[0].resolve: must be true or false'],
    [
      withProvider('resolve: true, saturation: { metricsUrl: "http://up.example/metrics" }'),
      'providers[0].saturation: reads one server, and `resolve` finds several; remove one of the two',
    ],
    [
      withServers('replicas: ["http://a/v1", "http://b/v1"], saturation: { metricsUrl: "http://c/metrics" }'),
      'providers[0].saturation.metricsUrl: has the host of none of the `replicas`',
    ],
    [withProvider('apiKey: "a b"'), 'providers[0].apiKey: must be visible ASCII characters without spaces'],
    [withProvider('apiKey: 123'), 'providers[0].apiKey: must be text, not a number; put it in quotes'],
    [withProvider('headers: { "a b": c }'), 'providers[0].headers.a b: is not a name of an HTTP header'],
    [
      withProvider('headers: { Content-Length: "1" }'),
      'providers[0].headers.Content-Length: is set by the service',
    ],
    [
      withProvider('headers: { x-a: "b\\r\\nx-c: d" }'),
      'providers[0].headers.x-a: must not hold control characters',
    ],
    [
      withProvider('apiKey: a, headers: { authorization: b }'),
      'providers[0].headers.authorization: says the same as `apiKey`',
    ],
    // Models
    [withModels(model('m'), model('m')), 'models[1].id: "m" is also the id of models[0]'],
    [withModels('{ id: m }'), 'models[0].routes: is missing'],
    [withModels('{ id: m, routes: [] }'), 'models[0].routes: must be a list with at least one entry'],
    [
      withModels('{ id: m, routes: [{ provider: upp }] }'),
      'models[0].routes[0].provider: "upp" is not the id of a provider; did you mean "up"?',
    ],
    [
      withModels('{ id: m, routes: [{ provider: up }, { provider: s }] }'),
      'models[0].routes[1].provider: "s" is a simulator',
    ],
    [withModels(model('"a b"')), 'models[0].id: must not hold spaces'],
    [withModels(model('"*"')), 'models[0].id: must be a name'],
    [withModels(model('""')), 'models[0].id: must not be empty'],
    [withModels(model('"\\ud800"')), 'models[0].id: must be valid Unicode text'],
    [withModels(model('語'.repeat(23))), 'models[0].id: is 207 characters long once encoded as a queue name'],
    [
      withModels(model('m', `queue: ${'q'.repeat(201)}`)),
      'models[0].queue: is 201 characters long once encoded',
    ],
    [
      withModels(model('m', 'concurrency: 2'), model('n', 'concurrency: 3, queue: m')),
      'models[1].concurrency: differs from models[0]',
    ],
    [
      withModels(model('m', 'contextTokens: 5, maxOutputTokens: 6')),
      'models[0].maxOutputTokens: is more than `contextTokens`',
    ],
    [
      withModels(model('m', 'hostedTools: [web_search]')),
      'models[0].hostedTools: are passed on to providers of type openai-responses alone',
    ],
    // Keys
    ['keys: [{ name: a }]', 'keys[0]: needs one of `key` and `hash`'],
    [`keys: [{ name: a, key: k, hash: "sha256:${hashKey('k')}" }]`, 'keys[0]: needs one of `key` and `hash`'],
    ['keys: [{ name: a, hash: "sha256:abc" }]', 'keys[0].hash: must be `sha256:` and 64 hexadecimal digits'],
    ['keys: [{ key: k }]', 'keys[0].name: is missing; give text'],
    ['keys: [{ name: "a b", key: k }]', 'keys[0].name: must be 1 to 64 letters'],
    ['keys: [{ name: a, key: k }, { name: b, key: k }]', 'keys[1]: is the same key as keys[0]'],
    [
      `keys: [{ name: a, key: k }, { name: a, hash: "sha256:${hashKey('k')}" }]`,
      'keys[1]: is the same key as keys[0]',
    ],
    [
      'keys: [{ name: a, key: k, models: [simulater] }]',
      'keys[0].models[0]: "simulater" is not the id of a model of the settings file; did you mean "simulator"?',
    ],
    ['keys: [{ name: a, key: k, models: [] }]', 'keys[0].models: must be a list with at least one entry'],
    [
      'keys: [{ name: a, key: k, tiers: [gold] }]',
      'keys[0].tiers[0]: must be one of default, flex, priority',
    ],
    ['keys: [{ name: a, key: k, weight: 0 }]', 'keys[0].weight: must be a number from 0.1 to 1000'],
    [
      'keys: [{ name: a, key: k, limits: { requestPerMinute: 5 } }]',
      'keys[0].limits.requestPerMinute: is not a setting; did you mean "requestsPerMinute"?',
    ],
    ['keys: [{ name: a, key: k, expiresAt: tomorrow }]', 'keys[0].expiresAt: must be a date'],
    ['keys: [{ name: a, key: k, expiresAt: 2030-02-31 }]', 'keys[0].expiresAt: must be a date'],
    [
      'keys: [{ name: a, key: k, weight: 1 }, { name: a, key: l, weight: 2 }]',
      'keys[1].weight: differs from keys[0].weight',
    ],
    [
      'keys: [{ name: a, key: k, limits: { queued: 1 } }, { name: a, key: l, limits: { queued: 2 } }]',
      'keys[1].limits.queued: differs from keys[0].limits.queued, but both keys belong to "a"',
    ],
    // Discovery
    [
      'providers: [{ id: p, type: openai-chat, baseUrl: "http://p", discovery: { everyMs: 5000 } }]\nmodels: [{ id: m, routes: [{ provider: p }] }]',
      'providers[0].discovery: has no effect without `discover: true`',
    ],
    [
      'providers: [{ id: p, type: openai-chat, baseUrl: "http://p", discover: true, discovery: { everyMs: 10 } }]\nmodels: []',
      'providers[0].discovery.everyMs: must be a whole number from 1000',
    ],
    [
      'providers: [{ id: p, type: openai-chat, baseUrl: "http://p", discover: true, discovery: { models: ["a b"] } }]\nmodels: []',
      'providers[0].discovery.models[0]: must be a name, in which * stands for any characters',
    ],
    [
      'providers: [{ id: p, type: llama-cpp, modelPath: m.gguf, discover: true }]\nmodels: [{ id: m, routes: [{ provider: p }] }]',
      'providers[0].discover: is not a setting',
    ],
    // References to the environment
    ['dataDir: ${NOPE}', 'dataDir: reads the environment variable NOPE, which is not set'],
    ['dataDir: "${}"', 'dataDir: has a ${…} that does not hold the name'],
    ['dataDir: "${A B}"', 'dataDir: has a ${…} that does not hold the name'],
    ['dataDir: "${OPEN"', 'dataDir: has a ${…} that does not hold the name'],
  ])('%s', (file, fault) => {
    const faults = faultsOf(`${file}\n${others(file)}`);
    expect(faults).toEqual([expect.stringContaining(fault)]);
  });

  it('needs models and providers together', () => {
    const fault = 'models: is empty; name a model, or let a provider discover its own with `discover: true`';
    expect(faultsOf('providers: []')).toEqual([fault]);
    expect(faultsOf('models: [{ id: m, routes: [{ provider: a }] }]')).toContain(
      'providers: is missing; give a list',
    );
  });

  it('is reported as a whole, with files and lines', () => {
    const file = 'logLevel: loud\nlimits:\n  queued: 0\n  bodyBites: 5\nkeys:\n  - key: k\n  - name: a\n';
    const load = () =>
      loadSettings({ env: { PORT: 'x' }, argv: ['--hots', 'h'], cwd: '/', readFile: () => file });
    expect(load).toThrow(
      [
        'bad configuration, 7 problems:',
        '  --hots: is not a flag of this command; did you mean "--host"?',
        '  PORT: must be a whole number from 0 to 65535, not text',
        '  logLevel: must be one of fatal, error, warn, info, debug, trace, silent (./sluice.yaml:1)',
        '  keys[0].name: is missing; give text (./sluice.yaml:6)',
        '  limits.queued: must be a whole number from 1 to 2000000 (./sluice.yaml:3)',
        '  limits.bodyBites: is not a setting; did you mean "bodyBytes"? (./sluice.yaml:4)',
        '  keys[1]: needs one of `key` and `hash`, and not both (./sluice.yaml:7)',
      ].join('\n'),
    );
  });

  it('fits on one line when one thing is wrong', () => {
    expect(() => loadSettings({ env: { PORT: 'x' }, argv: [], cwd: '/', readFile: noFile })).toThrow(
      /^bad configuration: PORT: must be a whole number from 0 to 65535, not text$/,
    );
  });

  it('never has its secrets repeated', () => {
    const secret = 'SECRET-VALUE';
    const env = {
      S: `${secret} `,
      ADMIN_TOKEN: 'SECRET',
      REDIS_URL: `http://u:${secret}@h`,
      LOG_LEVEL: secret,
    };
    const bad = withProvider(`apiKey: "\${S}", headers: { x: "${secret}\\n" }`);
    const keys = `keys: [{ name: a, key: "${secret} " }, { name: b, hash: "${secret}" }]`;
    expect(
      faultsOf(`${bad}\n${keys}`, { env, argv: [`--tokne=${secret}`, secret] }).join('\n'),
    ).not.toContain('SECRET');
    for (const broken of [
      `key: ${secret}: x`,
      `key: "\\${secret}"`,
      `${secret}\n ${secret}: 1`,
      `a: @${secret}`,
      `a: !${secret} b`,
    ]) {
      expect(faultsOf(broken).join('\n')).not.toContain('SECRET');
    }
  });
});

describe('a file that is not proper YAML', () => {
  const bomb = `a: &a [x]\n${'bcdefgh'.replace(/./g, (name) => {
    const before = String.fromCharCode(name.charCodeAt(0) - 1);
    return `${name}: &${name} [${Array.from({ length: 9 }, () => `*${before}`).join(', ')}]\n`;
  })}`;

  it.each([
    ['a tab', 'limits:\n\tqueued: 5\n', 'is indented with a tab; use spaces'],
    ['a repeated key', 'limits: {}\nlimits: {}\n', 'repeats a key'],
    ['two documents', 'limits: {}\n---\nlimits: {}\n', 'begins a second document'],
    ['an open bracket', 'keys: [\n', 'is not valid YAML'],
    ['a tag', 'dataDir: !secret x\n', 'has a tag'],
    ['a list as a key', '? [a]\n: 1\n', 'has a key that is not text'],
    ['an alias without anchor', 'dataDir: *nowhere\n', 'holds an alias'],
    ['an alias bomb', bomb, 'holds an alias'],
    ['an alias that holds itself', 'keys: &a [*a]\n', 'is nested too deeply'],
    ['deep nesting', '['.repeat(20_000), 'is nested too deeply'],
    ['five mebibytes', `# ${'x'.repeat(5 * 2 ** 20)}`, 'is larger than 4 MiB'],
  ])('is refused because of %s', (_, file, fault) => {
    expect(faultsOf(file).join('\n')).toContain(fault);
  });

  it('says where', () => {
    expect(() =>
      loadSettings({ env: {}, argv: [], cwd: '/', readFile: () => 'limits:\n\tqueued: 5\n' }),
    ).toThrow('(./sluice.yaml:2)');
  });
});

const origins = {
  setting: 'corsOrigins',
  fault: 'must be an origin as browsers send it',
  bad: [
    'chat.example.com',
    'https://chat.example.com/',
    'https://chat.example.com:443',
    'https://Chat.example.com',
    'https://*.example.com',
    'https://user@chat.example.com',
    'null',
    '',
  ],
  good: [
    'https://chat.example.com',
    'http://localhost:5173',
    'http://[::1]:3000',
    'tauri://localhost',
    'chrome-extension://abcdefgh',
    '*',
  ],
};
const networks = {
  setting: 'trustedProxies',
  fault: 'must be a network such as 10.0.0.0/8',
  bad: ['10.0.0.0', '10.0.0.0/33', '10.0.0/8', 'fd00::/129', 'proxy.example/8', '10.0.0.0/', 'any', '0/0'],
  good: ['10.0.0.0/8', '0.0.0.0/0', '192.0.2.1/32', 'fd00::/8', '::/0', '::1/128'],
};

describe.each([origins, networks])('an entry of server.$setting', ({ setting, fault, bad, good }) => {
  const fileWith = (entry: string) => `server: { ${setting}: ["${entry}"] }`;

  it.each(bad)("'%s' is refused", (entry) => {
    const faults = faultsOf(fileWith(entry));
    expect(faults).toEqual([expect.stringContaining(`server.${setting}[0]: ${fault}`)]);
  });

  it.each(good)('%s is taken', (entry) => {
    const settings = loadSettings({ env: {}, argv: [], cwd: '/', readFile: () => fileWith(entry) });
    expect(settings.server).toMatchObject({ [setting]: [entry] });
  });
});

describe('a bad environment or command line', () => {
  it.each<[Partial<SettingsSources>, string]>([
    [{ env: { PORT: '3e3' } }, 'PORT: must be a whole number from 0 to 65535, not text'],
    [{ env: { PORT: '70000' } }, 'PORT: must be a whole number from 0 to 65535'],
    [{ env: { PORT: '3001' } }, 'server.adminPort: is the port of the API (3001)'],
    [{ env: { SLUICE_CONFIG: 'gone.yaml' } }, 'SLUICE_CONFIG: there is no such file'],
    [{ argv: ['--config', 'gone.yaml'] }, '--config: there is no such file'],
    [{ argv: ['--port'] }, '--port: needs a value'],
    [{ argv: ['--port='] }, '--port: needs a value'],
    [{ argv: ['--port', '--log-level=info'] }, '--port: needs a value'],
    [{ argv: ['--port', '1', '--port', '2'] }, '--port: is given twice'],
    [{ argv: ['3000'] }, 'argument 1: is not a flag'],
    [{ argv: ['--wokers', '3'] }, '--wokers: is not a flag of this command; did you mean "--workers"?'],
    [{ argv: ['--workers', '0'] }, '--workers: must be a whole number from 1 to 64'],
    [
      { argv: ['--workers', '2'], role: 'api', env: { REDIS_URL: 'redis://r' } },
      '--workers: is not a flag of this command',
    ],
    [{ role: 'api' }, 'redisUrl: the api role needs a store it shares with the others; set REDIS_URL'],
    [{ role: 'worker' }, 'redisUrl: the worker role needs a store'],
    [{ argv: ['--admin-host', '::'] }, '--admin-host: is not a loopback address and there is no admin token'],
    [{ env: { ADMIN_HOST: '0.0.0.0' } }, 'ADMIN_HOST: is not a loopback address and there is no admin token'],
  ])('%j', (sources, fault) => {
    expect(faultsOf(undefined, sources)).toEqual([expect.stringContaining(fault)]);
  });

  it.each(['localhost', '127.0.0.1', '127.9.9.9', '::1', '[::1]'])('takes %s for loopback', (host) => {
    const { server } = loadSettings({ env: { ADMIN_HOST: host }, argv: [], cwd: '/', readFile: noFile });
    expect(server.adminHost).toBe(host);
  });

  it.each(['127.0.0.1.nip.io', 'localhost.example', '::ffff:0.0.0.0', '128.0.0.1'])(
    'does not take %s for loopback',
    (host) => {
      expect(faultsOf(undefined, { env: { ADMIN_HOST: host } }).join()).toContain(
        'ADMIN_HOST: is not a loopback address',
      );
    },
  );
});
