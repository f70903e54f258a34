import { createParser } from 'eventsource-parser';
import { fetchAdmin } from '../../api/request.ts';
import { endRun, isEnded, type ResponseBody, type Run, takeEvent, takeResponse } from './fold-run.ts';

const responsesPath = '/admin/v1/playground/v1/responses';

/** How often a background response is asked for until it has ended, in milliseconds. */
const askEveryMs = 1_000;

export interface RequestOptions {
  apiKey: string;
  /** Is told how each thing that arrives changes the run. */
  onChange: (change: (run: Run) => Run) => void;
}

/** One request that the playground of the service passes on. */
export class PlaygroundRequest {
  readonly #body: Readonly<Record<string, unknown>>;
  readonly #options: RequestOptions;
  readonly #connection = new AbortController();
  readonly #sentAt = performance.now();
  #id: string | undefined;
  #isStopped = false;

  constructor(body: Readonly<Record<string, unknown>>, options: RequestOptions) {
    this.#body = body;
    this.#options = options;
  }

  /** Sends it, and reports its progress. Rejects as `fetch` does, and for every answer that is an error. */
  async send(): Promise<void> {
    const { onChange } = this.#options;
    const answer = await this.#call('', 'POST', JSON.stringify(this.#body));
    if (this.#body['stream'] === true) {
      await this.#readEvents(answer);
    } else {
      let response = await this.#take(answer);
      while (this.#isBackground && !isEnded(response.status) && response.id !== undefined) {
        await pause(askEveryMs, this.#connection.signal);
        response = await this.#take(await this.#call(`/${response.id}`, 'GET'));
      }
    }
    onChange((run) => endRun(run, this.#elapsedMs()));
  }

  /**
   * Takes no more of the answer. A response in the background runs without a caller, so it is cancelled, as soon as its id is
   * known.
   */
  async stop(): Promise<void> {
    if (this.#isStopped) return;
    this.#isStopped = true;
    if (!this.#isBackground) this.#connection.abort();
    else await this.#cancelStopped();
  }

  /** Takes no more of the answer, and lets a response in the background run on. */
  leave(): void {
    this.#connection.abort();
  }

  get #isBackground(): boolean {
    return this.#body['background'] === true;
  }

  #elapsedMs(): number {
    return performance.now() - this.#sentAt;
  }

  async #cancelStopped(): Promise<void> {
    if (!this.#isStopped || this.#id === undefined || this.#connection.signal.aborted) return;
    this.#connection.abort();
    await this.#call(`/${this.#id}/cancel`, 'POST', undefined, {});
  }

  #call(
    path: string,
    method: string,
    body?: string,
    init: RequestInit = { signal: this.#connection.signal },
  ): Promise<Response> {
    return fetchAdmin(`${responsesPath}${path}`, {
      ...init,
      method,
      headers: {
        'sluice-api-key': this.#options.apiKey,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body }),
    });
  }

  async #take(answer: Response): Promise<ResponseBody> {
    const response = (await answer.json()) as ResponseBody; // The API's own answer.
    this.#options.onChange((run) => takeResponse(run, response));
    this.#id ??= response.id;
    await this.#cancelStopped();
    return response;
  }

  async #readEvents(answer: Response): Promise<void> {
    let events: Record<string, unknown>[] = [];
    const parser = createParser({
      onEvent: ({ data }) => {
        if (data !== '[DONE]') events.push(JSON.parse(data) as Record<string, unknown>); // The API's own event.
      },
    });
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const read = await reader?.read();
      if (read === undefined || read.done) return;
      parser.feed(read.value);
      // All that came at once is one change.
      const arrived = events;
      events = [];
      const at = this.#elapsedMs();
      this.#options.onChange((run) => arrived.reduce((before, event) => takeEvent(before, event, at), run));
      this.#id ??= arrived.map(({ response }) => (response as ResponseBody | undefined)?.id).find(Boolean);
      await this.#cancelStopped();
    }
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        reject(signal.reason as Error);
      },
      { once: true },
    );
    if (signal.aborted) reject(signal.reason as Error);
  });
}
