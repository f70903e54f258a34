import { z } from 'zod';
import { wholeNumber } from './value-schemas.ts';

/** How many responses the journal tells of, by default. */
const defaultKept = 100_000;

/** What the console of an operator shows. */
export const consoleSchema = z
  .strictObject({
    journal: z.boolean().default(true).meta({
      description:
        'Whether what happens to each response is noted in Redis, without its content: the list of responses over all tenants, its search and the story of each response come from there.',
    }),
    keep: wholeNumber(1000, 1_000_000).default(defaultKept).meta({
      description:
        'How many responses the journal goes back. Each takes some 500 bytes of Redis, and about as many of an api whose console is looked at.',
    }),
  })
  .prefault({})
  .meta({ description: "The operator's console." });
