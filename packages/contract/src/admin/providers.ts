import { z } from 'zod';

/** Members of a provider in the names of the settings file. None of them is a secret. */
const membersSchema = z.record(z.string(), z.unknown());

/** An upstream that routes may name, without its secrets. */
export const providerRowSchema = z.object({
  id: z.string(),
  origin: z.enum(['file', 'stored']),
  type: z.string(),
  /** The addresses of its servers; empty for a provider that is called at no address. */
  servers: z.array(z.string()),
  /** The environment variable of the workers that holds its key; null where none is named. */
  key_variable: z.string().nullable(),
  /** Whether the models that it lists are offered. */
  discover: z.boolean(),
  /** How many models in effect have a route to it. */
  models: z.int().min(0),
  /** Its members as they were given; null for a provider of the file. */
  settings: membersSchema.nullable(),
});
export type ProviderRow = z.output<typeof providerRowSchema>;

export const providerListSchema = z.object({
  object: z.literal('list'),
  data: z.array(providerRowSchema),
  /** Stored providers that are not in effect, and why. */
  unusable: z.array(z.object({ id: z.string(), problem: z.string() })),
});
export type ProviderList = z.output<typeof providerListSchema>;

/** A provider in the names of the settings file, without `apiKey` and `headers`. The service checks the rest. */
export const createProviderSchema = z.looseObject({ id: z.string().min(1), type: z.string().min(1) });

/** Members of a stored provider, in the names of the settings file. Null takes one away. */
export const changeProviderSchema = z
  .looseObject({})
  .refine((members) => Object.keys(members).length > 0, { message: 'must name a member of the provider' });

/** A stored provider as it is from now on. */
export const storedProviderSchema = z.object({
  object: z.literal('stored_provider'),
  id: z.string(),
  settings: membersSchema,
});
export type StoredProviderAnswer = z.output<typeof storedProviderSchema>;

export const removedProviderSchema = z.object({ object: z.literal('removed_provider'), id: z.string() });
export type RemovedProvider = z.output<typeof removedProviderSchema>;
