import { buildConnector, Client, type Dispatcher } from 'undici';

/**
 * Connections to one origin, each for one request at a time. They are kept between requests.
 *
 * A `Pool` of undici looks at each of its connections for each request. With 10,000 of them that took most of the time
 * of the tool, which is why the free ones are kept in a list here.
 */
export class Connections {
  readonly #origin: string;
  /** Shared, so that connections resume the TLS sessions of each other. */
  readonly #connect = buildConnector({ allowH2: false });
  /** The one that was used last is at the end and is used first, so that no more are open than are needed. */
  readonly #free: Client[] = [];
  readonly #all = new Set<Client>();
  readonly #ending = new Set<Promise<void>>();

  constructor(origin: string) {
    this.#origin = origin;
  }

  /** Runs one request over a connection. The caller bounds how many there are at a time. */
  async use<T>(request: (connection: Dispatcher) => Promise<T>): Promise<T> {
    const client = this.#free.pop() ?? this.#open();
    let isGood = false;
    try {
      const result = await request(client);
      isGood = true;
      return result;
    } finally {
      if (isGood) this.#free.push(client);
      else this.#end(client);
    }
  }

  /** Closes every connection at once. */
  async close(): Promise<void> {
    for (const client of this.#all) this.#end(client);
    await Promise.all(this.#ending);
  }

  #open(): Client {
    const client = new Client(this.#origin, {
      connect: this.#connect,
      pipelining: 1,
      // The run has one time-out for the whole of a request.
      headersTimeout: 0,
      bodyTimeout: 0,
      // Shorter than that of most servers, so that a request rarely meets a connection that is being closed.
      keepAliveTimeout: 4000,
    });
    this.#all.add(client);
    return client;
  }

  /** A connection whose request failed may still be waiting for the answer, or for itself to be made. */
  #end(client: Client): void {
    this.#all.delete(client);
    const ended = client.destroy().finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }
}
