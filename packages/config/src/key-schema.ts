import { type ServiceTier, serviceTiers } from '@sluice/contract';
import { z } from 'zod';
import { credential, plainName, weight, wholeNumber } from './value-schemas.ts';

const most = 1_000_000_000;

/** The default limit of reads per minute of a tenant: a thousand a second, a fraction of what an api can answer. */
export const defaultReadsPerMinute = 60_000;

/** The default share and the default tiers of a tenant. */
export const defaultWeight = 1;
export const defaultTiers: readonly ServiceTier[] = ['default', 'flex'];

/** What a key may say of the limits of its tenant. */
export const limitsSchema = z.strictObject({
  requestsPerMinute: wholeNumber(1, most)
    .exactOptional()
    .meta({ description: 'Most responses created in any minute. Without it, no limit.' }),
  tokensPerMinute: wholeNumber(1, most).exactOptional().meta({
    description:
      'Most tokens in and out in any minute. Each response reserves as many as it may take, and is settled with what it took. Without it, no limit.',
  }),
  concurrent: wholeNumber(1, most).exactOptional().meta({
    description:
      'Most responses that run at a time, over all workers. Further ones wait, in their order. Without it, no limit.',
  }),
  queued: wholeNumber(1, most).exactOptional().meta({
    description:
      'Most responses that may wait at a time. Without it, half of what may wait in the whole service.',
  }),
  queuedBytes: wholeNumber(1024, 1_099_511_627_776).exactOptional().meta({
    description:
      'Most bytes that the requests of its waiting responses may take together. Without it, half of what may wait in the whole service.',
    unit: 'bytes',
  }),
  storedBytes: wholeNumber(1024, 1_099_511_627_776).exactOptional().meta({
    description:
      'Most bytes that its responses may take in Redis, from their accept until they are deleted or expire: requests, answers and event logs. Without it, half of what Redis may hold by `limits.redisMemoryPercent`.',
    unit: 'bytes',
  }),
  maxOutputTokens: wholeNumber(16, most).exactOptional().meta({
    description:
      'Most tokens of output that a request may ask for. One that names none gets as many. Without it, only the limit of the model holds.',
    unit: 'tokens',
  }),
  readsPerMinute: wholeNumber(1, most).exactOptional().meta({
    description:
      'Most requests in any minute that create nothing: reads of responses, lists and streams, cancels and deletions. Each api counts its own.',
    default: defaultReadsPerMinute,
  }),
});

/** One key of a tenant as written in the file. Defaults of the tenant are filled in across all of its keys. */
export const keySchema = z.strictObject({
  name: plainName().meta({ description: 'The tenant. Several keys may share a tenant, for rotation.' }),
  key: credential().exactOptional().meta({
    description: 'The key itself. Only its hash is kept in memory. Give either this or `hash`.',
  }),
  hash: z
    .string()
    .regex(/^sha256:[0-9a-fA-F]{64}$/, 'must be `sha256:` and 64 hexadecimal digits')
    .exactOptional()
    .meta({ description: '`sha256:` and the SHA-256 of the key in hexadecimal.', secret: true }),
  models: z
    .array(z.string().min(1))
    .min(1)
    .default(['*'])
    .meta({ description: 'Ids of the models that this key may use. `"*"` is all of them.' }),
  tiers: z
    .array(z.enum(serviceTiers))
    .min(1)
    .default([...defaultTiers])
    .meta({
      description:
        'Service tiers that this key may ask for. A request for another tier is served as `default`. The response shows its tier, whose weight is in `fairness`.',
    }),
  weight: weight().exactOptional().meta({
    description: "The tenant's share of a busy model, relative to other tenants.",
    default: defaultWeight,
  }),
  limits: limitsSchema.default({}).meta({
    description:
      "The tenant's limits. Keys with the same `name` share them and must not contradict each other.",
  }),
  expiresAt: z
    .string()
    .refine(
      isDateOrTime,
      'must be a date (2027-01-31) or a time with zone (2027-01-31T12:00:00Z), in quotes or not',
    )
    .exactOptional()
    .meta({ description: 'When the key expires. A date alone is its first moment in UTC.' }),
  disabled: z.boolean().default(false).meta({ description: 'Refuses the key, as if it were unknown.' }),
});

/** Limits as some keys of a tenant say them; the others are left to its other keys. */
export type GivenLimits = z.output<typeof limitsSchema>;

/** The limits of a tenant, as its keys say them. `limitsInEffect` has the shares of the service beside them. */
export type TenantLimits = GivenLimits & { readsPerMinute: number };

function isDateOrTime(value: string): boolean {
  const form = /^(\d{4})-(\d{2})-(\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/.exec(value);
  if (form === null || Number.isNaN(Date.parse(value))) return false;
  // Date.parse turns the 31st of February into a day of March instead of refusing it.
  const [, year, month, day] = form;
  return new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() === Number(day);
}
