import { z } from 'zod';
import { milliseconds } from './value-schemas.ts';

/** How tenants are told that something has happened. */
export const webhooksSchema = z
  .strictObject({
    enabled: z.boolean().default(true).meta({
      description:
        'Whether tenants may have endpoints that are told of the ends of their responses in the background.',
    }),
    allowPrivateNetworks: z.boolean().default(false).meta({
      description:
        'Whether endpoints may be of private networks, have any port and be called by http. Only where every tenant may reach what a worker and an api can reach.',
    }),
    timeoutMs: milliseconds(1_000).default(20_000).meta({
      description: 'How long an endpoint has for its answer.',
    }),
  })
  .prefault({})
  .meta({ description: 'Webhooks of tenants.' });
