import { Connections } from './connections.ts';
import { badFlag } from '../flags/flag-values.ts';
import { type Answer, type Call, exchange } from './exchange.ts';
import type { Tenant } from '../flags/tenants.ts';

export interface EndpointOptions {
  /** As {@link readUrl} returns it. */
  url: URL;
  /** Sent with each request, over those of the tool. */
  headers: Readonly<Record<string, string>>;
}

/** A request to the endpoint, below its base URL. */
export interface EndpointCall extends Pick<Call, 'method' | 'body' | 'signal' | 'onEvent'> {
  path: string;
  tenant: Tenant;
}

/** An endpoint of the Responses API, and the connections to it. */
export class Endpoint {
  readonly #options: EndpointOptions;
  readonly #connections: Connections;

  constructor(options: EndpointOptions) {
    this.#options = options;
    this.#connections = new Connections(options.url.origin);
  }

  /** Sends a request; see {@link exchange} for how it ends. */
  send({ path, tenant, ...call }: EndpointCall): Promise<Answer> {
    const { url, headers } = this.#options;
    const whole = {
      ...call,
      path: basePath(url) + path + url.search,
      headers: {
        'content-type': 'application/json',
        accept: call.onEvent ? 'text/event-stream' : 'application/json',
        'user-agent': 'sluice-bench',
        ...(tenant.key !== undefined && { authorization: `Bearer ${tenant.key}` }),
        ...headers,
      },
    };
    return this.#connections.use((connection) => exchange(connection, whole));
  }

  /** Closes every connection at once. */
  close(): Promise<void> {
    return this.#connections.close();
  }
}

/**
 * The base URL of `--url`, without a slash at its end. `/responses` at its end, as it is often copied, is left away.
 *
 * @throws {FatalError} with exit code 2 for anything that is no base URL, without repeating what may be a password.
 */
export function readUrl(text: string): URL {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol))
    throw badFlag('url', 'is not an http or https URL, such as http://127.0.0.1:3000/v1');
  if (url.username !== '' || url.password !== '')
    throw badFlag('url', 'has a user or a password; send it with --header instead');
  url.hash = '';
  url.pathname = url.pathname.replace(/\/+$/, '').replace(/\/responses$/, '');
  return url;
}

/** The base URL as it may be printed: without a query, which may hold a key. */
export function shownUrl(url: URL): string {
  return url.origin + basePath(url);
}

/** `URL` keeps a lone slash as the path of a bare origin. */
function basePath({ pathname }: URL): string {
  return pathname === '/' ? '' : pathname;
}

/** Whether an address is of this machine. */
export function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}
