import { z } from 'zod';
import { seconds } from './value-schemas.ts';

/** How long ended responses and their data are kept. Redis measures the durations. */
export const retentionSchema = z
  .strictObject({
    responseSeconds: seconds()
      .default(86_400)
      .meta({ description: 'How long a stored response is kept after its end.' }),
    eventLogSeconds: seconds().default(3600).meta({
      description:
        'How long its events are kept after its end, for streams that resume. Never longer than the response.',
    }),
    idempotencySeconds: seconds()
      .default(86_400)
      .meta({ description: 'How long an Idempotency-Key stands for its response.' }),
  })
  .prefault({})
  .meta({ description: 'How long things are kept.' });
