import { z } from 'zod';

/** What the service keeps in Redis so that the console has something to show. */
export const consoleSchema = z
  .strictObject({
    statistics: z.boolean().default(true).meta({
      description:
        'Whether each process adds up in Redis what happened in the last hour, and says there that it runs. Without it the overview of the console has queues and memory alone.',
    }),
  })
  .prefault({})
  .meta({ description: 'What is kept for the console of the admin listener.' });
