import { JsonReader, type JsonReaderParts } from './json-reader.ts';
import { JsonThreads, type JsonThreadsOptions } from './json-threads.ts';

/** The threads of an api that read JSON and count tokens, and the reader that gives them what is too much for the event loop. */
export class BodyThreads {
  readonly reader: JsonReader;
  readonly #all: readonly JsonThreads[];

  constructor({
    sealingKeys,
    hostedTools,
    ...options
  }: JsonThreadsOptions & Pick<JsonReaderParts, 'sealingKeys' | 'hostedTools'>) {
    const threads = new JsonThreads(options);
    const counting = new JsonThreads(options);
    this.#all = [threads, counting];
    this.reader = new JsonReader({ threads, counting, sealingKeys, hostedTools });
  }

  async stop(): Promise<void> {
    await Promise.all(this.#all.map((each) => each.stop()));
  }
}
