import type { AuditEntry, KeyReport, TenantReportRow } from '@sluice/contract/admin';
import type { MockRoute } from './mock-route.ts';
import { randomFrom } from './random.ts';

const random = randomFrom(7);
const names = [
  'acme-production',
  '東京データ研究所',
  'бюро-переводов',
  'night-batch',
  'playground',
  'مختبر اللغة',
];
const tenantNames = Array.from(
  { length: 400 },
  (_, at) => names[at] ?? `tenant-${String(at).padStart(4, '0')}`,
);

const tenants: TenantReportRow[] = tenantNames.map((tenant, at) => {
  const isLimited = at % 3 !== 2;
  const isActive = at < 6 || at % 40 === 0;
  return {
    tenant,
    weight: at === 0 ? 4 : at % 17 === 0 ? 2 : 1,
    tiers: at % 5 === 0 ? ['default', 'flex', 'priority'] : ['default', 'flex'],
    models: at % 7 === 0 ? ['qwen3-8b', 'gpt-oss-20b'] : ['*'],
    limits: {
      requests_per_minute: isLimited ? 600 : null,
      tokens_per_minute: isLimited ? 400_000 : null,
      concurrent: isLimited ? 8 : null,
      queued: isLimited ? 200 : 50_000,
      queued_bytes: at % 9 === 0 ? 64 * 1024 * 1024 : 2 * 1024 ** 3,
      stored_bytes: 800 * 1024 * 1024,
      max_output_tokens: at % 4 === 0 ? 4096 : null,
    },
    use: {
      requests_in_minute: isLimited ? Math.round(isActive ? 600 * random() : 0) : null,
      tokens_in_minute: isLimited ? Math.round(isActive ? 400_000 * random() : 0) : null,
      waiting: at === 3 ? 187 : isActive ? Math.round(20 * random()) : 0,
      waiting_bytes: isActive ? Math.round(2e6 * random()) : 0,
      stored_bytes: Math.round((isActive ? 7e8 : 2e7) * random()),
      running: isLimited ? (isActive ? Math.round(8 * random()) : 0) : null,
      in_line: isLimited ? (at === 3 ? 122 : 0) : null,
    },
    share: isActive ? (at === 3 ? 0.41 : at === 0 ? 0.3 : 0.29 / 14) : 0,
    fair_share: isActive ? (at === 0 ? 0.22 : 0.055) : 0,
    keys: 1 + (at % 3),
  };
});

let issued = 0;
const keys: KeyReport[] = tenantNames.flatMap((tenant, at) =>
  Array.from({ length: 1 + (at % 3) }, (_, nth): KeyReport => {
    const isOfFile = at < 2 && nth === 0;
    const state = isOfFile
      ? 'active'
      : ((['active', 'active', 'active', 'expired', 'revoked'] as const)[(at + nth) % 5] ?? 'active');
    const created = Date.now() - (at + 1) * 5_400_000;
    return {
      id: isOfFile
        ? null
        : `key_${Math.floor(random() * 1e12)
            .toString(16)
            .padStart(12, '0')}${at}${nth}`,
      tenant,
      ends_with: isOfFile
        ? null
        : Math.floor(random() * 36 ** 4)
            .toString(36)
            .padStart(4, 'x'),
      origin: isOfFile ? 'file' : 'stored',
      state,
      created_at: isOfFile ? null : created,
      expires_at: state === 'expired' ? created + 3_600_000 : nth === 1 ? Date.now() + 9 * 86_400_000 : null,
      revoked_at: state === 'revoked' ? created + 1_800_000 : null,
      models: at % 7 === 0 ? ['qwen3-8b', 'gpt-oss-20b'] : ['*'],
    };
  }),
);

const acts: [action: string, target: string, detail: string | null][] = [
  ['queue.pause', 'embeddings', null],
  ['response.cancel', 'resp_01JD5T7W9K2M4N6P8Q0R2S4T6V', null],
  ['key.create', '東京データ研究所', 'key_4fd2a99c01be77'],
  ['responses.cancel', '{"status":["queued"],"tenant":["night-batch"]}', '187 done'],
  ['queue.drain', 'vision', '42 done'],
  ['response.reveal', 'resp_01JD5T7W9K2M4N6P8Q0R2S4T6V', null],
  ['key.revoke', 'key_4fd2a99c01be77', 'playground'],
  ['queue.resume', 'embeddings', null],
  ['response.retry', 'resp_01JD5T7W9K2M4N6P8Q0R2S4T6V', 'resp_01JD5TA1B2C3D4E5F6G7H8J9K0'],
  ['act.stop', 'act_17', null],
  ['something.new', 'of a later release', null],
];

/** Newest first; every act has its entry `asked`, and all but one an outcome. */
const audit: AuditEntry[] = Array.from({ length: 700 }, (_, at) => {
  const [action, target, detail] = acts[at % acts.length] ?? acts[0] ?? ['', '', null];
  const when = Date.now() - at * 840_000 - 60_000;
  const base = { action, target, address: at % 5 === 0 ? '::1' : '10.20.0.17' };
  const asked: AuditEntry = {
    ...base,
    id: `${when}-0`,
    at: when,
    outcome: 'asked',
    detail: null,
    asked: null,
  };
  if (at === 2) return [asked];
  const outcome = at % 13 === 5 ? 'refused' : at % 29 === 7 ? 'failed' : 'done';
  const said = outcome === 'done' ? detail : outcome === 'refused' ? 'not_found' : 'server_is_overloaded';
  return [
    { ...base, id: `${when + 40}-0`, at: when + 40, outcome, detail: said, asked: asked.id } as const,
    asked,
  ];
}).flat();

function createKey(body: unknown): unknown {
  const { tenant } = body as { tenant: string }; // The console's own form.
  issued += 1;
  const id = `key_new${issued}`;
  keys.unshift({
    id,
    tenant,
    ends_with: 'nE0w',
    origin: 'stored',
    state: 'active',
    created_at: Date.now(),
    expires_at: null,
    revoked_at: null,
    models: ['*'],
  });
  return {
    object: 'issued_key',
    id,
    key: `sk-sluice-mock-${'4f9a27c1'.repeat(4)}nE0w`,
    tenant,
    is_safe: true,
  };
}

function revokeKey(id: string | undefined): unknown {
  const found = keys.find((key) => key.id === id);
  if (!found) return undefined;
  Object.assign(found, { state: 'revoked', revoked_at: Date.now() });
  return { object: 'revoked_key', id, tenant: found.tenant, revoked_at: Date.now(), is_safe: true };
}

function changeTenant(tenant: string | undefined, body: unknown): unknown {
  const found = tenants.find((row) => row.tenant === tenant);
  if (!found) return undefined;
  const { weight, limits = {} } = body as { weight?: number | null; limits?: Record<string, number | null> }; // The console's own form.
  if (weight !== undefined) found.weight = weight ?? 1;
  for (const [name, value] of Object.entries(limits)) {
    const member = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    Object.assign(found.limits, { [member]: value });
  }
  return { object: 'changed_tenant', tenant, keys: found.keys, is_safe: true };
}

export const tenantRoutes: readonly MockRoute[] = [
  { method: 'GET', path: '/tenants', answer: () => ({ object: 'list', data: tenants }) },
  { method: 'GET', path: '/keys', answer: () => ({ object: 'list', data: keys }) },
  {
    method: 'POST',
    path: '/tenants/:tenant/limits',
    acts: true,
    answer: ({ params, body }) => changeTenant(params['tenant'], body),
  },
  { method: 'POST', path: '/keys', acts: true, answer: ({ body }) => createKey(body) },
  { method: 'POST', path: '/keys/:id/revoke', acts: true, answer: ({ params }) => revokeKey(params['id']) },
  {
    method: 'GET',
    path: '/audit',
    answer: ({ search }) => {
      const after = search.get('after');
      const limit = Number(search.get('limit') ?? 50);
      const start = after === null ? 0 : audit.findIndex(({ id }) => id === after) + 1;
      const data = audit.slice(start, start + limit);
      const hasMore = start + limit < audit.length;
      return { object: 'list', data, has_more: hasMore, next: hasMore ? (data.at(-1)?.id ?? null) : null };
    },
  },
];
