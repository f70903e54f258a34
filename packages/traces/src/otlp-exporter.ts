import { type ClientRequest, Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

export interface OtlpOptions {
  endpoint: string;
  headers: Readonly<Record<string, string>>;
  protocol: 'http/protobuf' | 'http/json';
  compression: 'gzip' | 'none';
  timeoutMs: number;
}

/**
 * Sends exports of spans to an OTLP receiver over HTTP. An export that it does not take in time, or refuses, is not sent
 * again: after a long outage nobody would look at it any more, and keeping it would cost memory.
 */
export class OtlpExporter {
  readonly #options: OtlpOptions;
  readonly #underWay = new Set<ClientRequest>();
  #isStopped = false;
  readonly #agents = { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) };

  constructor(options: OtlpOptions) {
    this.#options = options;
  }

  /** Sends one export in the protocol of the options. Rejects when it was not taken. */
  async send(body: Uint8Array): Promise<void> {
    const { headers, protocol, compression } = this.#options;
    if (this.#isStopped) throw new Error('The process stops');
    const isGzip = compression === 'gzip';
    const status = await this.#post(isGzip ? await gzipped(body) : body, {
      ...headers,
      'content-type': protocol === 'http/json' ? 'application/json' : 'application/x-protobuf',
      ...(isGzip && { 'content-encoding': 'gzip' }),
    });
    if (status < 200 || status > 299) throw new Error(`The receiver of traces answered ${status}`);
  }

  /** Aborts the export in flight, and takes no further one. */
  abort(): void {
    this.#isStopped = true;
    for (const request of this.#underWay) request.destroy(new Error('The process stops'));
  }

  close(): void {
    this.#agents.http.destroy();
    this.#agents.https.destroy();
  }

  /**
   * The status of the answer, once all of it has been read, so that its connection can be used again.
   *
   * `fetch` is not used: once a process has read one of its bodies by `pipeTo`, everything in it takes a third more CPU
   * (Node 24; decision 0041 has the measurement).
   */
  #post(body: Uint8Array, headers: Readonly<Record<string, string>>): Promise<number> {
    const { endpoint, timeoutMs } = this.#options;
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const isTls = endpoint.startsWith('https:');
    const request = (isTls ? httpsRequest : httpRequest)(
      endpoint,
      {
        method: 'POST',
        headers: { ...headers, 'content-length': body.byteLength },
        agent: isTls ? this.#agents.https : this.#agents.http,
      },
      (response) => {
        response.on('error', reject);
        response.on('end', () => resolve(response.statusCode ?? 0));
        response.resume();
      },
    );
    const late = () => request.destroy(new Error(`The receiver of traces took longer than ${timeoutMs} ms`));
    const timer = setTimeout(late, timeoutMs).unref();
    this.#underWay.add(request);
    request.on('error', reject);
    request.on('close', () => {
      clearTimeout(timer);
      this.#underWay.delete(request);
      reject(new Error('The connection to the receiver of traces was closed'));
    });
    request.end(body);
    return promise;
  }
}

const gzipped = promisify(gzip);
