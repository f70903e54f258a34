import type { FunctionTool, Generation } from '@sluice/contract';
import type { ProviderChunk } from './provider.ts';

type ToolRules = Pick<Generation, 'tools' | 'tool_choice' | 'parallel_tool_calls'>;

/** How far the model is pushed towards a call: not at all, to one of the callable tools, or to this one. */
export type CallDemand = 'none' | 'auto' | 'required';

/** The tools a request lets the model call, and whether it has to call one. Without tools there is no demand. */
export function callableTools({ tools = [], tool_choice: choice = 'auto' }: ToolRules): {
  tools: FunctionTool[];
  demand: CallDemand;
} {
  if (choice === 'none' || tools.length === 0) return { tools: [], demand: 'none' };
  if (typeof choice === 'string') return { tools, demand: choice };
  if (choice.type === 'function') {
    return { tools: tools.filter((tool) => tool.name === choice.name), demand: 'required' };
  }
  const mode = choice.mode ?? 'auto';
  if (mode === 'none') return { tools: [], demand: 'none' };
  const allowed = new Set(choice.tools.map((tool) => tool.name));
  return { tools: tools.filter((tool) => allowed.has(tool.name)), demand: mode };
}

/**
 * Holds a stream to the calls its request allows.
 *
 * A call of a tool that is not callable is suppressed with all its arguments, and so is every call after the
 * first when parallel calls are switched off. The finish then says what is left: `function_call` when a call
 * got through, `stop` when none did. Upstreams are asked to keep these rules as well; many do not.
 *
 * One instance for one stream.
 */
export class AllowedCalls {
  readonly #names: ReadonlySet<string>;
  readonly #most: number;
  readonly #suppressed = new Set<string>();
  #admitted = 0;

  constructor(rules: ToolRules) {
    this.#names = new Set(callableTools(rules).tools.map((tool) => tool.name));
    this.#most = rules.parallel_tool_calls === false ? 1 : Number.POSITIVE_INFINITY;
  }

  /** The chunk as it may go on, or nothing when it belongs to a suppressed call. */
  admit(chunk: ProviderChunk): ProviderChunk | undefined {
    if (chunk.type === 'function_call') {
      if (this.#names.has(chunk.name) && this.#admitted < this.#most) {
        this.#admitted += 1;
        return chunk;
      }
      this.#suppressed.add(chunk.callKey);
      return undefined;
    }
    if (chunk.type === 'function_arguments') {
      return this.#suppressed.has(chunk.callKey) ? undefined : chunk;
    }
    if (chunk.type === 'finish' && (chunk.reason === 'stop' || chunk.reason === 'function_call')) {
      return { type: 'finish', reason: this.#admitted > 0 ? 'function_call' : 'stop' };
    }
    return chunk;
  }
}
