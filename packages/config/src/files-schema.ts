import { z } from 'zod';
import { text, wholeNumber } from './value-schemas.ts';

/** Where the files of tenants are, and how much they may have. */
export const filesSchema = z
  .strictObject({
    enabled: z.boolean().default(false).meta({
      description: 'Whether tenants may upload files, and have batches run. Every api must have the folder.',
    }),
    folder: text().exactOptional().meta({
      description: 'The folder of the files; `files` in `dataDir` by default.',
    }),
    bytes: wholeNumber(1, 2 ** 40)
      .default(536_870_912)
      .meta({ description: 'Most bytes of a file. A file of a batch has 209,715,200 at most.' }),
    tenantBytes: wholeNumber(1, 2 ** 50)
      .default(10_737_418_240)
      .meta({ description: 'Most bytes of all files of a tenant together.' }),
    tenantFiles: wholeNumber(1, 100_000).default(1_000).meta({ description: 'Most files of a tenant.' }),
    batchLines: wholeNumber(1, 10_000)
      .default(50)
      .meta({ description: 'How many lines of a batch wait or run at a time.' }),
  })
  .prefault({})
  .meta({ description: 'Files of tenants, and their batches.' });
