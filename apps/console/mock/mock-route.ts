import type { IncomingHttpHeaders } from 'node:http';

export interface MockRequest {
  params: Record<string, string>;
  search: URLSearchParams;
  headers: IncomingHttpHeaders;
  body: unknown;
}

/** A fake route. `path` is under `/admin/v1`, with `:name` for a parameter. */
export interface MockRoute {
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  /** Whether it asks for the action token, which is "mock". */
  acts?: boolean;
  /** The body of the answer; undefined for 404. */
  answer: (request: MockRequest) => unknown;
  /** Answers with server-sent events instead; returns what ends them. */
  live?: (request: MockRequest, send: (event: string, data: unknown, id?: string) => void) => () => void;
}
