import { randomBytes, randomUUID } from 'node:crypto';
import {
  cancelled,
  closeAll,
  closeItem,
  completed,
  emptyOutput,
  errorEvent,
  failed,
  failureBody,
  type FailureCode,
  follow,
  newItemId,
  type ResponseEnd,
  type UnnumberedEvent,
} from '@sluice/contract';
import { claim, type ClaimedRecord, EventWriter, type RedisKeys } from '@sluice/event-log';
import { type Outcome, ResponseWorker } from '@sluice/queue';
import type { TestRedis } from '@sluice/testing';

/** One run of a response under the control of a test. */
export interface Run {
  record: ClaimedRecord;
  /** Aborted when somebody asked for the end. */
  cancelled: AbortSignal;
  /** Writes text to the message of the response. */
  say(delta: string): void;
  /** Writes any event. */
  write(event: UnnumberedEvent): void;
  complete(): Promise<void>;
  fail(code: FailureCode): Promise<void>;
  /** Waits until somebody asks for the end, and obeys. */
  hang(): Promise<void>;
}

/** What a worker does with a response. */
export type RunScript = (run: Run) => Promise<void>;

export interface TinyWorker {
  /** Runs so far, in order. */
  runs: Run[];
  /** What is done with responses from now on; by default each says `Hello` and is complete. */
  onRun(script: RunScript): void;
  stop(): Promise<void>;
}

const usage = {
  input_tokens: 3,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens: 2,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 5,
};

/** Takes jobs and does with each response what the test says. As much of a worker as an api needs. */
export async function startTinyWorker(
  redis: TestRedis,
  keys: RedisKeys,
  names: readonly string[],
): Promise<TinyWorker> {
  const channel = keys.workerProcess(randomUUID());
  const cancels = new Map<string, AbortController>();
  const doorbell = redis.connect();
  doorbell.on('message', (_channel, responseId) => cancels.get(responseId)?.abort());
  await doorbell.subscribe(channel);
  const commands = redis.connect();
  const runs: Run[] = [];
  let script: RunScript = async (run) => {
    run.say('Hello');
    await run.complete();
  };
  const worker = new ResponseWorker({
    connection: redis.connect(),
    keyPrefix: keys.prefix,
    names,
    concurrency: 8,
    lockMs: 10_000,
    stalledMs: 3_000,
    run: async (responseId): Promise<Outcome> => {
      const token = randomUUID();
      const claiming = { token, workerChannel: channel, totalMs: 60_000, maxAttempts: 2 };
      const claimed = await claim(commands, keys, responseId, claiming);
      if (claimed.kind !== 'run' && claimed.kind !== 'end') return { kind: 'settled' };
      const cancel = new AbortController();
      cancels.set(responseId, cancel);
      const run = startRun(commands, keys, claimed.record, token, cancel.signal);
      if (claimed.kind === 'end') {
        cancel.abort();
        await run.hang();
      } else {
        runs.push(run);
        await script(run);
      }
      cancels.delete(responseId);
      return { kind: 'settled' };
    },
    onError: () => undefined,
    onDefect: () => undefined,
  });
  worker.start();
  return {
    runs,
    onRun(next) {
      script = next;
    },
    stop: () => worker.stop(),
  };
}

function startRun(
  redis: ReturnType<TestRedis['connect']>,
  keys: RedisKeys,
  record: ClaimedRecord,
  token: string,
  signal: AbortSignal,
): Run {
  const output = emptyOutput();
  const writer = new EventWriter({
    redis,
    keys,
    responseId: record.id,
    token,
    sequenceNumber: record.sequenceNumber,
    streams: record.streams,
    retention: { recordMs: 60_000, logMs: 60_000 },
    onRefused: () => undefined,
    signal: new AbortController().signal,
  });
  const write = (event: UnnumberedEvent) => {
    follow(output, event);
    writer.write(event);
  };
  const end = async (ending: ResponseEnd) => {
    await writer.end(ending);
  };
  const itemId = newItemId('message', record.id, randomBytes);
  const inPart = { item_id: itemId, output_index: 0, content_index: 0 };
  return {
    record,
    cancelled: signal,
    write,
    say(delta) {
      if (output.fold.items.length === 0) {
        const item = {
          type: 'message',
          id: itemId,
          status: 'in_progress',
          role: 'assistant',
          content: [],
        } as const;
        write({ type: 'response.output_item.added', output_index: 0, item: { ...item, content: [] } });
        const part = { type: 'output_text', text: '', annotations: [], logprobs: [] } as const;
        write({
          type: 'response.content_part.added',
          ...inPart,
          part: { ...part, annotations: [], logprobs: [] },
        });
      }
      write({ type: 'response.output_text.delta', ...inPart, delta, logprobs: [] });
    },
    async complete() {
      for (const index of output.open.keys()) closeItem(output, index, 'completed').forEach(write);
      await end(completed({ output: output.fold.items, usage }, 1_000));
    },
    async fail(code) {
      closeAll(output).forEach(write);
      const error = failureBody(code);
      write(errorEvent(error));
      await end(failed({ output: output.fold.items, usage: null }, error));
    },
    async hang() {
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
      closeAll(output).forEach(write);
      await end(cancelled({ output: output.fold.items, usage: null }));
    },
  };
}
