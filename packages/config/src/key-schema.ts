import { createHash } from 'node:crypto';
import { type KeyTier, keyTiers } from '@sluice/contract';
import { type BudgetName, budgetNames, describeLimit, forEachLimit } from '@sluice/contract/tenant-limits';
import { z } from 'zod';
import { credential, money, plainName, weight, wholeNumber } from './value-schemas.ts';

/** The default share and the default tiers of a tenant. */
export const defaultWeight = 1;
export const defaultTiers: readonly KeyTier[] = ['default', 'flex'];

/** The limits of its tenant that a key may set. */
export const limitsSchema = z.strictObject(
  forEachLimit((row) => {
    const { least, most, unit, otherwise } = row;
    return (unit === 'money' ? money(least, most) : wholeNumber(least, most)).exactOptional().meta({
      description: describeLimit(row),
      ...(unit !== 'count' && unit !== 'money' && { unit }),
      ...(typeof otherwise === 'number' && { default: otherwise }),
    });
  }),
);

/** The limits that a key may have for itself. */
export const budgetSchema = limitsSchema.pick(
  Object.fromEntries(budgetNames.map((name) => [name, true])) as Record<BudgetName, true>, // Each name is there.
);

/**
 * The SHA-256 of a key in lower-case hexadecimal, as in the file after `sha256:`. A slow hash would not help: keys are
 * random, so there is no dictionary to try.
 */
export function hashKey(plain: string): string {
  return createHash('sha256').update(plain, 'utf8').digest('hex');
}

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
    .array(z.enum(keyTiers))
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
  budget: budgetSchema.exactOptional().meta({
    description: 'Limits of this key alone, beside those of its tenant: a request must fit into both.',
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

function isDateOrTime(value: string): boolean {
  const form = /^(\d{4})-(\d{2})-(\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/.exec(value);
  if (form === null || Number.isNaN(Date.parse(value))) return false;
  // Date.parse turns the 31st of February into a day of March instead of refusing it.
  const [, year, month, day] = form;
  return new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() === Number(day);
}
