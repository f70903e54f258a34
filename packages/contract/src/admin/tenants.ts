import { z } from 'zod';
import {
  countedLimits,
  describeLimit,
  forEachLimit,
  forEachOnWire,
  type LimitName,
  type LimitUse,
  tenantLimits,
  type UseOfAll,
} from '../tenant-limits.ts';
import { queueOverviewSchema } from './overview.ts';
import { count, moment } from './values.ts';

export const queueListSchema = z.object({ object: z.literal('list'), data: z.array(queueOverviewSchema) });
export type QueueList = z.output<typeof queueListSchema>;

/** A queue that was paused or resumed. */
export const queueSwitchSchema = z.object({
  object: z.literal('queue'),
  queue: z.string(),
  paused: z.boolean(),
});
export type QueueSwitch = z.output<typeof queueSwitchSchema>;
const page = {
  /** How many to pass over. */
  offset: wholeNumber("'offset' must be a whole number from 0 to 1000000.", 0, 1_000_000).default(0),
  limit: wholeNumber("'limit' must be a whole number from 1 to 200.", 1, 200).default(100),
};

/** A page of tenants: those with output in the last five minutes first, most of it first; then the others as their keys are known. */
export const tenantPageQuerySchema = z.object({
  /** What the name has in it, in whichever case. */
  q: text("'q' must be a part of the name of a tenant, once.").optional(),
  ...page,
});
export type TenantPageQuery = z.output<typeof tenantPageQuerySchema>;

const oneOrMore = z.union([z.string(), z.array(z.string())]).transform((values) => [values].flat());
const keyStates = ['active', 'expired', 'revoked', 'disabled'] as const;
const isKeyState = (word: string): word is (typeof keyStates)[number] =>
  keyStates.some((state) => state === word);

/** A page of keys: those in effect first, of the file and then the newest. */
export const keyPageQuerySchema = z.object({
  /** What the tenant, the id, or the last characters have in them, in whichever case. */
  q: text("'q' must be a part of a tenant, an id or the last characters of a key, once.").optional(),
  /** May be repeated, as alternatives; so may the state. */
  tenant: oneOrMore
    .refine(
      (names) => names.length <= 64 && names.every(({ length }) => length <= 256),
      refusal("'tenant' must be the names of at most 64 tenants."),
    )
    .optional(),
  state: oneOrMore
    .refine((states) => states.every(isKeyState), refusal(`'state' must be one of ${keyStates.join(', ')}.`))
    .transform((states) => states.filter(isKeyState))
    .optional(),
  ...page,
});
export type KeyPageQuery = z.output<typeof keyPageQuerySchema>;

function text(message: string) {
  return z.string().refine((value) => value.length <= 256, refusal(message));
}

/** Arrives as text. */
function wholeNumber(message: string, least: number, most: number) {
  return z
    .string()
    .refine(
      (value) => /^\d{1,7}$/.test(value) && Number(value) >= least && Number(value) <= most,
      refusal(message),
    )
    .transform(Number);
}

function refusal(message: string) {
  return { params: { code: 'invalid_value', message } };
}

const orNone = count.nullable();
const moneyOrNone = z.number().min(0).nullable();

/** Money may have a fraction. */
const orNoneOf = (name: LimitName) => (tenantLimits[name].unit === 'money' ? moneyOrNone : orNone);

/** Counts by their names. Where a tenant may be without a limit, nobody counts then. */
const uses = Object.fromEntries(
  countedLimits.map((name) => {
    const { use, otherwise } = tenantLimits[name];
    return [use, 'halfOf' in otherwise ? count : orNoneOf(name)];
  }),
) as Record<UseOfAll, typeof count> & Record<Exclude<LimitUse, UseOfAll>, typeof orNone>; // By the same rule.

/** A tenant: what it may do, what it uses of that, and its share of what all of them used in the last minutes. */
export const tenantSchema = z.object({
  tenant: z.string(),
  weight: z.number(),
  tiers: z.array(z.string()),
  /** Ids of models; `*` is all of them. */
  models: z.array(z.string()),
  /** `null` is no limit. */
  limits: z.object(forEachOnWire(orNoneOf)),
  /** `null` where nobody counts, because there is no limit. */
  use: z.object({ ...uses, in_line: orNone }),
  /** Its share of the output tokens of all tenants in the last five minutes, 0 to 1; null when there were none. */
  share: z.number().min(0).max(1).nullable(),
  /** What its weight would give it if all who were active in that time had wanted more than their share. */
  fair_share: z.number().min(0).max(1).nullable(),
  keys: count,
});
export type TenantReportRow = z.output<typeof tenantSchema>;
/**
 * The use of a tenant now. `waiting` was accepted and has not been started; `in_line` is the part of it that waits for a place
 * outside of its queue. Tokens are reserved or used ones, and the bytes in the store include those of open responses.
 */
export type TenantUseNow = TenantReportRow['use'];
export const tenantListSchema = z.object({
  object: z.literal('list'),
  data: z.array(tenantSchema),
  has_more: z.boolean().optional(),
});
export type TenantList = z.output<typeof tenantListSchema>;

/** An API key. The key itself is kept nowhere. */
export const keySchema = z.object({
  /** Absent for a key of the settings file. */
  id: z.string().nullable(),
  tenant: z.string(),
  /** Its last characters; null for a key of the settings file. */
  ends_with: z.string().nullable(),
  origin: z.enum(['file', 'stored']),
  state: z.enum(keyStates),
  created_at: moment.nullable(),
  expires_at: moment.nullable(),
  revoked_at: moment.nullable(),
  models: z.array(z.string()),
});
export type KeyReport = z.output<typeof keySchema>;
export const keyListSchema = z.object({
  object: z.literal('list'),
  data: z.array(keySchema),
  has_more: z.boolean().optional(),
});
export type KeyList = z.output<typeof keyListSchema>;

/** The rules of a new key, in the names of the settings file. The service checks the rest. */
export const createKeySchema = z.looseObject({ tenant: z.string().min(1) });

/** A key that was made. This is the only time that it is told. */
export const issuedKeySchema = z.object({
  object: z.literal('issued_key'),
  id: z.string(),
  key: z.string(),
  tenant: z.string(),
  /** Whether it is stored as safely as the setting `durability` asks for. It is in effect either way. */
  is_safe: z.boolean(),
});
export type IssuedKey = z.output<typeof issuedKeySchema>;

/**
 * A change of what stored keys say of their tenant, in the names of the settings file. Null takes away what they said. The service
 * refuses names that are not of limits, and says which are near.
 */
export const tenantLimitsChangeSchema = z
  .strictObject({
    weight: z.number().nullable().optional(),
    limits: z
      .record(z.string(), z.number().nullable())
      .meta({
        properties: forEachLimit((row) => ({ type: ['number', 'null'], description: describeLimit(row) })),
      })
      .optional(),
  })
  .refine(({ weight, limits = {} }) => weight !== undefined || Object.keys(limits).length > 0, {
    message: 'must name a weight or a limit',
    path: ['limits'],
  });
export type TenantLimitsChange = z.output<typeof tenantLimitsChangeSchema>;

/** A tenant of which all stored keys say the same now. */
export const changedTenantSchema = z.object({
  object: z.literal('changed_tenant'),
  tenant: z.string(),
  /** How many keys were changed; 0 when all of them had said so before. */
  keys: count,
  is_safe: z.boolean(),
});
export type ChangedTenant = z.output<typeof changedTenantSchema>;

/** A key that is refused from now on, or was already. */
export const revokedKeySchema = z.object({
  object: z.literal('revoked_key'),
  id: z.string(),
  tenant: z.string(),
  revoked_at: moment,
  is_safe: z.boolean(),
});
export type RevokedKey = z.output<typeof revokedKeySchema>;
