import { ServiceError } from '@sluice/contract';

/** What the service may say to a request. */
export type Verdict =
  /** It must be refused, and the error names this part of the request; `undefined` where any error will do. */
  | { kind: 'refused'; param?: string | null }
  /** Nothing is wrong with its form. What comes of it is a matter of the service. */
  | { kind: 'open' };

export interface BadRequest {
  /** What is wrong with it, for the report. */
  what: string;
  method: string;
  path: string;
  /** Names and values as they are sent, in order; a name may come twice. */
  headers: [string, string][];
  body: Buffer | undefined;
  verdict: Verdict;
}

export function jsonHeaders(key: string): [string, string][] {
  return [
    ['authorization', `Bearer ${key}`],
    ['content-type', 'application/json'],
  ];
}

/** What the contract says: `parse` throws where it refuses. */
export function verdictFrom(parse: () => unknown): Verdict {
  try {
    parse();
    return { kind: 'open' };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { kind: 'refused', param: error.param };
  }
}
