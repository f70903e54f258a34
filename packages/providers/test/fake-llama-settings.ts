import type { LlamaCppSettings } from '../src/index.ts';

/** A provider whose process loads the fake of the library. */
export function fakeLlamaCpp(settings: Partial<LlamaCppSettings> = {}): LlamaCppSettings {
  const library = new URL('fake-llama.ts', import.meta.url).href;
  return { type: 'llama-cpp', id: 'here', modelPath: 'model.gguf', library, ...settings };
}
