import type { Dispatcher, Pool } from 'undici';
import { now } from '../now.ts';
import type { Sent } from './flow.ts';

export interface Request {
  key: string;
  body: string;
  tag: string;
  /** Milliseconds since the epoch: then it is given up. */
  giveUpAt: number;
}

/** Sends a create request and notes when its answer came. Never rejects. */
export function sendRequest(pool: Pool, { key, body, tag, giveUpAt }: Request): Promise<Sent> {
  return new Promise((resolve) => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
    const watch = new AnswerWatch({ tag, giveUpAt, resolve });
    pool.dispatch({ method: 'POST', path: '/v1/responses', headers, body }, watch);
  });
}

const deltaEvent = 'event: response.output_text.delta\n';
const idPattern = /"id":"(create-response_\w+)"/;

class AnswerWatch implements Dispatcher.DispatchHandler {
  readonly #sent: Sent;
  readonly #resolve: (sent: Sent) => void;
  readonly #timer: NodeJS.Timeout;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #isOver = false;
  /** The answer until the id and the first token were found, and nothing of it afterwards. */
  #text = '';

  constructor({
    tag,
    giveUpAt,
    resolve,
  }: {
    tag: string;
    giveUpAt: number;
    resolve: (sent: Sent) => void;
  }) {
    this.#sent = { tag, at: now(), refusals: 0, answeredAt: 0, status: 0 };
    this.#resolve = resolve;
    this.#timer = setTimeout(() => this.#giveUp(), giveUpAt - now());
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isOver) controller.abort(new Error('given up'));
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number): void {
    this.#status = status;
  }

  onResponseData(_controller: Dispatcher.DispatchController, bytes: Buffer): void {
    if (this.#sent.firstTokenAt !== undefined) return;
    this.#text += bytes.toString('latin1');
    if (this.#text.includes(deltaEvent)) this.#sent.firstTokenAt = now();
  }

  onResponseEnd(): void {
    this.#settle(this.#status);
  }

  onResponseError(): void {
    this.#settle(0);
  }

  #giveUp(): void {
    this.#settle(0);
    this.#controller?.abort(new Error('given up'));
  }

  #settle(status: number): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    const id = idPattern.exec(this.#text)?.[1];
    this.#resolve({ ...this.#sent, ...(id !== undefined && { id }), status, answeredAt: now() });
  }
}
