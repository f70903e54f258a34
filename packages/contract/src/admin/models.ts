import { z } from 'zod';
import { actSchema } from './acts.ts';

const count = z.int().min(0);

const routesSchema = z.array(z.object({ provider: z.string(), model: z.string() }));

/** Where a model comes from: the settings file, an operator who has stored it, or an upstream that lists it. */
export const modelOrigins = ['file', 'stored', 'discovered'] as const;

/** A model that clients may name, and its queue. */
export const modelRowSchema = z.object({
  id: z.string(),
  origin: z.enum(modelOrigins),
  /** In order of preference. */
  routes: routesSchema,
  queue: z.string(),
  paused: z.boolean(),
  /** How many wait in the whole queue, which other models may share. */
  waiting: count,
  active: count,
  /** Null where it has no limit. */
  concurrency: count.nullable(),
});
export type ModelRow = z.output<typeof modelRowSchema>;

export const adminModelListSchema = z.object({
  object: z.literal('list'),
  data: z.array(modelRowSchema),
  /** Stored models that are not offered, and why. */
  unusable: z.array(z.object({ id: z.string(), problem: z.string() })),
  /** The ids of the providers that a route may name. */
  providers: z.array(z.string()),
});
export type AdminModelList = z.output<typeof adminModelListSchema>;

/** A model in the names of the settings file. The service checks the rest. */
export const createModelSchema = z.looseObject({ id: z.string().min(1) });

/** Members of a stored model, in the names of the settings file. Null takes one away. */
export const changeModelSchema = z
  .looseObject({})
  .refine((members) => Object.keys(members).length > 0, { message: 'must name a member of the model' });

/** A stored model as it is from now on. */
export const storedModelSchema = z.object({
  object: z.literal('stored_model'),
  id: z.string(),
  routes: routesSchema,
  queue: z.string(),
  concurrency: count.nullable(),
});
export type StoredModelAnswer = z.output<typeof storedModelSchema>;

/** What becomes of what waits for a removed model: it is served, or cancelled. */
export const removeModelSchema = z.strictObject({ queue: z.enum(['keep', 'drain']).default('keep') });
export type ModelRemoval = z.output<typeof removeModelSchema>;

export const removedModelSchema = z.object({
  object: z.literal('removed_model'),
  id: z.string(),
  /** The act that cancels what waits; null where it is served. */
  act: actSchema.nullable(),
  /** Why what waits is served although it was to be cancelled: the code of an error. Null otherwise. */
  error: z.string().nullable(),
});
export type RemovedModel = z.output<typeof removedModelSchema>;
