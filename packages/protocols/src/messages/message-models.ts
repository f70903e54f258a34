import { z } from 'zod';

export const messageModelSchema = z.object({
  type: z.literal('model'),
  id: z.string(),
  display_name: z.string(),
  created_at: z.string(),
});

export const messageModelListSchema = z.object({
  data: z.array(messageModelSchema),
  has_more: z.boolean(),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
});

/** A model as Anthropic's clients read it. `created` is in Unix seconds. */
export function messageModelOf({
  id,
  created,
}: {
  id: string;
  created: number;
}): z.output<typeof messageModelSchema> {
  return { type: 'model', id, display_name: id, created_at: new Date(created * 1000).toISOString() };
}
