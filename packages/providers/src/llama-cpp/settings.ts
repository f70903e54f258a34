/** A GGUF file that runs on this machine. These defaults are for settings made by hand: those of a settings file are complete. */
export interface LlamaCppSettings {
  type: 'llama-cpp';
  id: string;
  /** The GGUF file; a relative path starts at the working directory. */
  modelPath: string;
  /** Tokens of prompt and answer together. The most are those that the model was trained with. Default: 4096. */
  contextTokens?: number | undefined;
  /** Threads that compute. Default: one less than the processors that this process may use, and at least one. */
  threads?: number | undefined;
  /** Responses that are generated at once; further ones wait in line. Each has a context of its own. Default: 1. */
  parallel?: number | undefined;
  /** `auto` uses a GPU that is there, `off` computes on processors alone. Default: `auto`. */
  gpu?: 'auto' | 'off' | undefined;
  /** The module to load in place of the package; for tests. Default: `node-llama-cpp`. */
  library?: string | undefined;
}

/** The package that an operator installs beside the service. */
export const packageName = 'node-llama-cpp';
