import { z } from 'zod';
import { wholeNumber } from './value-schemas.ts';

/** How many responses the journal tells of, by default. */
const defaultKept = 100_000;

/** The data that the service keeps in Redis for the console. */
export const consoleSchema = z
  .strictObject({
    journal: z.boolean().default(true).meta({
      description:
        'Whether the history of each response is kept in Redis, without its content. The list of responses over all tenants, its search and the story of each response come from there.',
    }),
    keep: wholeNumber(1000, 1_000_000).default(defaultKept).meta({
      description:
        'How many responses the journal goes back. Each takes some 500 bytes of Redis, and about as many of an api whose console is looked at.',
    }),
    statistics: z.boolean().default(true).meta({
      description:
        'Whether each process adds up in Redis the events of the last hour, and reports there that it runs. Without it the overview of the console has queues and memory alone.',
    }),
  })
  .prefault({})
  .meta({ description: "The operator's console." });
