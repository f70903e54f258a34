import { z } from 'zod';

/** What the console has to know before it shows anything. */
export const sessionSchema = z.object({
  object: z.literal('session'),
  /** The version of this service. */
  version: z.string(),
  /** Where the API answers, for what the console shows as curl. */
  api_url: z.string(),
  /**
   * Whether something can be changed: `off` when the service has no action token, `locked` when the request carries none or a
   * wrong one, `open` when it carries the right one.
   */
  acting: z.enum(['off', 'locked', 'open']),
  /** Whether the journal is kept, without which there is no list of responses. */
  journal: z.boolean(),
  /** Whether the statistics of the last hour are kept, and the processes announce themselves. */
  statistics: z.boolean(),
  models: z.array(z.string()),
  /** Whether the service takes its development key, as on loopback until that is revoked. */
  takes_development_key: z.boolean(),
  /** The key itself, for the playground; null unless `acting` is `open`. */
  development_key: z.string().nullable(),
});
export type Session = z.output<typeof sessionSchema>;
