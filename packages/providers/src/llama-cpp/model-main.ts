import { writeFileSync } from 'node:fs';
import type { LlamaLibrary } from './library.ts';
import { LoadedModel } from './loaded-model.ts';
import type { FromModel, LlamaRequest, LoadOptions, ToModel } from './messages.ts';
import { failureOf } from './run-error.ts';

/*
 * The process of a model: loads one file, and generates what its worker asks for. A crash of native code, or too little
 * memory, ends this process alone. It ends with its worker, however that ends.
 */

/** Among the processes of the machine this one is ended first when memory is short: from -1000 to 1000. */
const firstToGo = '800';

let model: LoadedModel | undefined;
const running = new Map<number, AbortController>();

/** A worker that has gone need not be told. */
function send(message: FromModel): void {
  if (process.connected) process.send?.(message, undefined, {}, () => undefined);
}

async function load(options: LoadOptions): Promise<void> {
  try {
    // The specifier is a value, so the package need not be there when this is compiled, and its types are ours.
    const library = (await import(options.library)) as LlamaLibrary;
    model = await LoadedModel.load(library, options);
    send({ type: 'loaded', facts: model.facts });
  } catch (error) {
    send({ type: 'not_loaded', reason: error instanceof Error ? error.message : String(error) });
  }
}

async function run(id: number, request: LlamaRequest): Promise<void> {
  const abort = new AbortController();
  running.set(id, abort);
  try {
    await model?.run(request, abort.signal, (chunk) => send({ type: 'chunk', id, chunk }));
    send({ type: 'ended', id });
  } catch (error) {
    if (abort.signal.aborted) send({ type: 'ended', id });
    else send({ type: 'failed', id, failure: failureOf(error) });
  } finally {
    running.delete(id);
  }
}

try {
  writeFileSync('/proc/self/oom_score_adj', firstToGo);
} catch {
  // Only Linux has it, and some containers forbid it.
}
// The worker decides when this process ends, also when a terminal interrupts both.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);
// Native code may be computing, and nobody waits for it any more.
process.once('disconnect', () => process.exit(0));
process.on('message', (message: ToModel) => {
  switch (message.type) {
    case 'load':
      void load(message.options);
      break;
    case 'run':
      void run(message.id, message.request);
      break;
    case 'abort':
      running.get(message.id)?.abort();
      break;
  }
});
