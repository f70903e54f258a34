import type { ServiceError } from '@sluice/contract';
import type { TenantUse } from '@sluice/response-store';
import type { z } from 'zod';

/** The manner of a protocol that is not the Responses API. */
export interface Protocol {
  /** The JSON of an error. */
  readonly errorBody: (error: ServiceError, requestId: string) => string;
  readonly errorSchema?: z.ZodType;
  /** The name that the header with the id of a request has besides ours. */
  readonly requestIdHeader?: string;
  /** Where a tenant stands with its limits, besides our headers. */
  readonly limitHeaders?: (use: TenantUse | undefined) => Record<string, string>;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The Responses API by default. */
    protocol?: Protocol;
  }
}
