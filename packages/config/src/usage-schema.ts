import { z } from 'zod';
import { postgresUrl } from './value-schemas.ts';

/** The settings of usage. */
export const usageSchema = z
  .strictObject({
    enabled: z.boolean().default(false).meta({
      description:
        'Whether it is summed up what responses took, by hour, tenant, key, model and tier. The sums stand in `usage.sqlite` in `dataDir`, which must be the same folder for every api, unless there is a `databaseUrl`.',
    }),
    currency: z
      .string()
      .regex(/^[A-Z]{3}$/, 'must be three capital letters of ISO 4217, such as USD')
      .default('USD')
      .meta({ description: 'The currency of the prices of models and of what tenants may spend.' }),
    databaseUrl: postgresUrl.exactOptional().meta({
      description: 'Address of a database of Postgres in which the sums stand, for apis on several machines.',
    }),
  })
  .prefault({})
  .meta({ description: 'What responses took, for bills and reports.' });
