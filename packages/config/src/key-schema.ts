import { z } from 'zod';
import { credential, plainName, wholeNumber } from './value-schemas.ts';

/** Service tiers that a key may be allowed to ask for. */
export const serviceTiers = ['default', 'flex', 'priority'] as const;

const most = 1_000_000_000;

/** Reads in a minute of a tenant whose operator sets no other number. */
export const defaultReadsPerMinute = 6000;

/** The default share and the default tiers of a tenant. */
export const defaultWeight = 1;
export const defaultTiers: readonly ServiceTier[] = ['default', 'flex'];

const limitsSchema = z.strictObject({
  requestsPerMinute: wholeNumber(1, most)
    .exactOptional()
    .meta({ description: 'Responses created in any minute; absent, no limit.' }),
  tokensPerMinute: wholeNumber(1, most)
    .exactOptional()
    .meta({ description: 'Tokens in and out in any minute; absent, no limit.', withoutEffect: true }),
  concurrent: wholeNumber(1, most)
    .exactOptional()
    .meta({ description: 'Responses that run at a time; more wait. Absent, no limit.', withoutEffect: true }),
  queued: wholeNumber(1, most)
    .exactOptional()
    .meta({ description: 'Responses that wait at a time; absent, the bound of the whole service holds.' }),
  readsPerMinute: wholeNumber(1, most).exactOptional().meta({
    description: 'Reads of stored responses and streams in any minute.',
    default: defaultReadsPerMinute,
    withoutEffect: true,
  }),
});

/** One key of a tenant as it stands in the file. Defaults are filled in once the keys of a tenant are together. */
export const keySchema = z.strictObject({
  name: plainName().meta({ description: 'The tenant. Several keys may share one, to rotate them.' }),
  key: credential().exactOptional().meta({
    description: 'The key itself; only its hash is kept in memory. Give this or `hash`.',
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
    .meta({ description: 'Ids of the models this key may use; `"*"` is all of them.' }),
  tiers: z
    .array(z.enum(serviceTiers))
    .min(1)
    .default([...defaultTiers])
    .meta({
      description:
        'Service tiers this key may ask for; another one is served as default. The tier is stored and told, and does not change the order of the queue yet.',
    }),
  weight: z.number().gt(0).max(1000).exactOptional().meta({
    description: "The tenant's share of a busy model, relative to other tenants.",
    default: defaultWeight,
    withoutEffect: true,
  }),
  limits: limitsSchema.default({}).meta({
    description: "The tenant's limits: keys of one `name` share them and must not contradict each other.",
  }),
  expiresAt: z
    .string()
    .refine(
      isDateOrTime,
      'must be a date (2027-01-31) or a time with zone (2027-01-31T12:00:00Z), in quotes or not',
    )
    .exactOptional()
    .meta({ description: 'From then on the key is refused; a date alone is its first moment in UTC.' }),
  disabled: z.boolean().default(false).meta({ description: 'Refuses the key, as if it were unknown.' }),
});

export type ServiceTier = (typeof serviceTiers)[number];

/** Limits of a tenant; one that is absent does not hold. */
export type TenantLimits = z.output<typeof limitsSchema> & { readsPerMinute: number };

function isDateOrTime(value: string): boolean {
  const form = /^(\d{4})-(\d{2})-(\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/.exec(value);
  if (form === null || Number.isNaN(Date.parse(value))) return false;
  // Date.parse turns the 31st of February into a day of March instead of refusing it.
  const [, year, month, day] = form;
  return new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() === Number(day);
}
