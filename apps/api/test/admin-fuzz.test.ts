import { afterAll, beforeAll, expect, it } from 'vitest';
import { adminRoutes } from '../src/admin/api/admin-routes.ts';
import { model, startTestApi, type TestApi } from './test-api.ts';
import { startTestAdmin, type TestAdmin } from './test-admin.ts';

let api: TestApi;
let admin: TestAdmin;

beforeAll(async () => {
  api = await startTestApi({ withoutWorker: true });
  admin = await startTestAdmin(api, {
    matching: {
      isKept: true,
      count: () => Promise.resolve(0),
      async *ids() {
        yield [];
      },
    },
  });
});
afterAll(async () => {
  await admin.stop();
  await api.stop();
});

/** The same numbers each time, so that a failure can be repeated. */
function randomFrom(seed: number): (most: number) => number {
  let state = seed;
  return (most) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * most);
  };
}

const words = [
  ...[
    '',
    ' ',
    '0',
    '-1',
    '1e999',
    'null',
    'true',
    '__proto__',
    'constructor',
    'NaN',
    '%',
    '%zz',
    '%00',
    '%2e%2e',
  ],
  ...[
    '..',
    '/',
    '//',
    '\\',
    '?',
    '#',
    ':',
    '*',
    '$&',
    '{}',
    '[]',
    "'",
    '"',
    '\u0000',
    '\r\n',
    '\u2028',
    '🌊',
    '\ud800',
  ],
  ...['create-response_', 'act_', 'key_', 'file:0', '+', '-', '(0', 'a'.repeat(300), 'x'.repeat(20_000), 'm'],
];

it('answers whatever comes with a refusal that it describes, and never fails', async () => {
  const random = randomFrom(7);
  const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T;
  const text = () => Array.from({ length: random(4) }, () => pick(words)).join('');
  const value = (depth = 0): unknown => {
    const kind = random(depth > 2 ? 5 : 7);
    if (kind === 0) return text();
    if (kind === 1) return random(1_000_000) - 500_000;
    if (kind === 2) return pick([null, true, false, 1e308, -0, 0.5, Number.MAX_SAFE_INTEGER]);
    if (kind === 3) return pick(['cancel', 'retry', 'queued', 'team', model, 'default']);
    if (kind === 4) return [];
    if (kind === 5) return Array.from({ length: random(4) }, () => value(depth + 1));
    const names = [
      'action',
      'filter',
      'expected',
      'tenant',
      'limits',
      'status',
      'from',
      'to',
      'id',
      'metadata',
    ];
    return Object.fromEntries(
      Array.from({ length: random(5) }, () => [random(4) === 0 ? text() : pick(names), value(depth + 1)]),
    );
  };
  const seen = new Set<number>();
  for (let at = 0; at < 1_500; at += 1) {
    const route = pick(adminRoutes);
    // A live stream would not end; that of a response ends here, where no id is known.
    const isLive = route.answers.some(({ content }) => content?.mediaType === 'text/event-stream');
    if (isLive && (!route.path.includes(':id') || random(20) > 0)) continue;
    const path = route.path.replaceAll(/:\w+/g, () => encodeURIComponent(text().toWellFormed()) || 'x');
    const query =
      random(3) === 0
        ? `?${pick(['limit', 'after', 'content', 'starting_after', text()])}=${encodeURIComponent(text().toWellFormed())}`
        : '';
    const body = route.method === 'POST' && random(2) === 0 ? value() : undefined;
    const json = body === undefined ? undefined : JSON.stringify(body);
    const answer = await admin.ask(`${path}${query}`, {
      method: route.method,
      ...(json !== undefined && {
        body: random(10) === 0 ? json.slice(0, random(json.length)) || '{' : json,
      }),
    });
    seen.add(answer.status);
    expect([path.slice(0, 200), query.slice(0, 200), json?.slice(0, 500), answer.status]).not.toContain(500);
  }
  expect([...seen]).toEqual(expect.arrayContaining([200, 400, 404]));
});
