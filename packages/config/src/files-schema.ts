import { z } from 'zod';
import { bucketName, credential, serverUrl, text, wholeNumber } from './value-schemas.ts';

const bucketSchema = z
  .strictObject({
    name: bucketName().meta({ description: 'Name of the bucket, which must exist.' }),
    endpoint: serverUrl.exactOptional().meta({
      description:
        'Address of a server that speaks the protocol of S3, such as `http://minio:9000`; that of AWS in `region` by default.',
    }),
    region: z
      .string()
      .regex(/^[a-z0-9-]{1,64}$/, 'must be the name of a region, such as eu-central-1')
      .default('us-east-1')
      .meta({ description: 'The region of the bucket. Most servers but that of AWS take any.' }),
    prefix: z
      .string()
      .regex(/^([A-Za-z0-9_.-]+\/)*$/, 'must be names that each end with a slash, such as sluice/')
      .max(200)
      .default('sluice/')
      .meta({ description: 'Starts the key of every object, for a bucket that others use, too.' }),
    accessKeyId: credential().exactOptional().meta({
      description:
        'The id of an access key. Without one the SDK of AWS looks for credentials in the environment and in the machine, as it does everywhere.',
    }),
    secretAccessKey: credential().exactOptional().meta({ description: 'The secret of the access key.' }),
    pathStyle: z.boolean().default(true).meta({
      description:
        'Whether the bucket stands in the path of a URL and not in the name of its host. A few hosted services want `false`.',
    }),
  })
  .exactOptional()
  .meta({
    description:
      'A bucket of S3, or of a server that speaks its protocol, in place of the folder. Apis on several machines need no common folder then.',
  });

/** Where the files of tenants are, and how much they may have. */
export const filesSchema = z
  .strictObject({
    enabled: z.boolean().default(false).meta({
      description:
        'Whether tenants may upload files, and have batches run. Every api must have the folder, or the bucket.',
    }),
    folder: text().exactOptional().meta({
      description: 'The folder of the files; `files` in `dataDir` by default.',
    }),
    bucket: bucketSchema,
    bytes: wholeNumber(1, 2 ** 40)
      .default(536_870_912)
      .meta({
        description:
          'Most bytes of a file. A file of a batch has 209,715,200 at most. Uploads under way take up to four times as many of the disk of an api.',
      }),
    tenantBytes: wholeNumber(1, 2 ** 50)
      .default(10_737_418_240)
      .meta({ description: 'Most bytes of all files of a tenant together.' }),
    tenantFiles: wholeNumber(1, 100_000).default(1_000).meta({ description: 'Most files of a tenant.' }),
    batchLines: wholeNumber(1, 10_000).default(50).meta({
      description:
        'How many lines of a batch wait or run at a time, at most: all batches together have the places of a model that other responses leave free.',
    }),
    batchResultBytes: wholeNumber(1, 2 ** 50)
      .default(2_147_483_648)
      .meta({
        description:
          'Most bytes of the results of a batch, or a few answers more. A batch whose results have as many ends as failed, with what it has. Eight batches run at a time, and have theirs on the disk of one api.',
      }),
  })
  .prefault({})
  .meta({ description: 'Files of tenants, and their batches.' });
