import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import type { Generation } from '@sluice/contract';
import { AllowedCalls } from '../allowed-calls.ts';
import type { Provider, ProviderCall, ProviderChunk, ProviderLog } from '../provider.ts';
import { CustomCalls } from '../openai/custom-tools.ts';
import { Line } from './line.ts';
import { llamaRequest } from './llama-request.ts';
import { missingOnThisMachine } from './missing-on-this-machine.ts';
import { ModelProcess } from './model-process.ts';
import { type LlamaCppSettings, packageName } from './settings.ts';

const defaultContextTokens = 4096;

/** A GGUF file, run by llama.cpp in a process beside this one. */
export function llamaCpp(settings: LlamaCppSettings, log?: ProviderLog): Provider {
  return new LlamaCpp(settings, log);
}

class LlamaCpp implements Provider {
  readonly id: string;
  readonly #settings: LlamaCppSettings;
  readonly #contextTokens: number;
  readonly #process: ModelProcess;
  readonly #line: Line;

  constructor(settings: LlamaCppSettings, log: ProviderLog | undefined) {
    const { id, modelPath, parallel = 1 } = settings;
    this.id = id;
    this.#settings = settings;
    this.#contextTokens = settings.contextTokens ?? defaultContextTokens;
    this.#line = new Line(parallel);
    this.#process = new ModelProcess({
      providerId: id,
      log,
      load: {
        library: settings.library ?? packageName,
        modelPath: resolve(modelPath),
        contextTokens: this.#contextTokens,
        // A computing thread never rests, and one processor has to take the tokens.
        threads: settings.threads ?? Math.max(1, availableParallelism() - 1),
        parallel,
        gpu: settings.gpu ?? 'auto',
      },
    });
  }

  /** The model is loaded while the worker starts. The first call waits for it, and fails if it cannot be loaded. */
  async prepare(): Promise<string | undefined> {
    const missing = await missingOnThisMachine(this.#settings);
    if (missing === undefined) this.#process.load().catch(() => undefined);
    return missing;
  }

  async *generate(
    generation: Generation,
    { signal }: ProviderCall,
  ): AsyncGenerator<ProviderChunk, void, undefined> {
    signal.throwIfAborted();
    const request = llamaRequest(generation, { providerId: this.id, contextTokens: this.#contextTokens });
    const leave = await this.#line.take(signal);
    const calls = new AllowedCalls(generation);
    const custom = new CustomCalls(generation.tools);
    for await (const chunk of this.#process.run(request, signal, leave)) {
      const inputs = chunk.type === 'usage' ? custom.takeInputs() : [];
      for (const turned of [...inputs, ...custom.turn(chunk)]) {
        const admitted = calls.admit(turned);
        if (admitted) yield admitted;
      }
    }
  }

  close(): Promise<void> {
    return this.#process.close();
  }
}
