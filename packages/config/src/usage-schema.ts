import { z } from 'zod';
import { postgresUrl } from './value-schemas.ts';

/** The settings of usage. */
export const usageSchema = z
  .strictObject({
    enabled: z.boolean().default(false).meta({
      description:
        'Whether it is summed up what responses took, by hour, tenant, key, model and tier. The sums stand in `usage.sqlite` in `dataDir`: all apis must be on one machine and have the same folder on its disk, not on a network file system. Apis on several machines need a `databaseUrl`.',
    }),
    currency: z
      .string()
      .regex(/^[A-Z]{3}$/, 'must be three capital letters of ISO 4217, such as USD')
      .default('USD')
      .meta({ description: 'The currency of the prices of models and of what tenants may spend.' }),
    label: z.string().min(1).max(64).exactOptional().meta({
      description:
        'A member of the `metadata` of requests by whose value usage is told apart as well, such as `project`. Few values serve best: each is a row of every hour.',
    }),
    databaseUrl: postgresUrl.exactOptional().meta({
      description: 'Address of a database of Postgres in which the sums stand, for apis on several machines.',
    }),
  })
  .prefault({})
  .meta({ description: 'What responses took, for bills and reports.' });
