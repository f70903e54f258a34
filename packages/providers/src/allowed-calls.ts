import { allowsParallelCalls, type Generation, type Tool } from '@sluice/contract';
import type { ProviderChunk } from './provider.ts';

type ToolRules = Pick<Generation, 'tools' | 'hosted_tools' | 'tool_choice' | 'parallel_tool_calls'>;

/** Whether the model may call a tool: `none` forbids it, `auto` leaves it to the model, `required` demands a call. */
export type CallDemand = 'none' | 'auto' | 'required';

/**
 * The tools of the client that a request lets the model call, and whether it may or must call one. Without tools the demand is
 * `none`. Where the upstream runs tools of its own, any of them may be the one that is required.
 */
export function callableTools({
  tools = [],
  hosted_tools: hosted,
  tool_choice: choice = 'auto',
}: ToolRules): { tools: Tool[]; demand: CallDemand } {
  if (choice === 'none' || tools.length === 0) return { tools: [], demand: 'none' };
  if (choice === 'required' && hosted) return { tools, demand: 'auto' };
  if (typeof choice === 'string') return { tools, demand: choice };
  if (choice.type !== 'allowed_tools') return { tools: chosen(tools, [choice]), demand: 'required' };
  const mode = choice.mode ?? 'auto';
  if (mode === 'none') return { tools: [], demand: 'none' };
  return { tools: chosen(tools, choice.tools), demand: mode };
}

type NamedTool = Pick<Tool, 'type' | 'name'>;

function chosen(tools: readonly Tool[], names: readonly NamedTool[]): Tool[] {
  const wanted = new Set(names.map(keyOf));
  return tools.filter((tool) => wanted.has(keyOf(tool)));
}

/** A function is another tool than a custom one of the same name. */
function keyOf({ type, name }: NamedTool): string {
  return `${type} ${name}`;
}

const noTools: ReadonlySet<string> = new Set();

/**
 * Keeps a stream to the calls that its request allows.
 *
 * It drops calls of tools that are not callable, with their arguments. Without parallel calls it drops every call
 * after the first. It then corrects the finish reason: `function_call` if a call got through, `stop` if none did.
 * Requests ask the upstream for the same, and many upstreams ignore it.
 *
 * Each stream needs an instance of its own.
 */
export class AllowedCalls {
  readonly #callable: ReadonlySet<string>;
  readonly #most: number;
  /** Most answers have none. */
  #suppressed: Set<string> | undefined;
  #admitted = 0;

  constructor(rules: ToolRules) {
    const { tools } = callableTools(rules);
    this.#callable = tools.length === 0 ? noTools : new Set(tools.map(keyOf));
    this.#most = allowsParallelCalls(rules) ? Number.POSITIVE_INFINITY : 1;
  }

  /** Returns the chunk to pass on, or undefined when it belongs to a suppressed call. */
  admit(chunk: ProviderChunk): ProviderChunk | undefined {
    if (chunk.type === 'function_call' || chunk.type === 'custom_tool_call') {
      const type = chunk.type === 'function_call' ? 'function' : 'custom';
      if (this.#callable.has(keyOf({ type, name: chunk.name })) && this.#admitted < this.#most) {
        this.#admitted += 1;
        return chunk;
      }
      (this.#suppressed ??= new Set()).add(chunk.callKey);
      return undefined;
    }
    if (chunk.type === 'function_arguments' || chunk.type === 'custom_tool_input') {
      return this.#suppressed?.has(chunk.callKey) === true ? undefined : chunk;
    }
    if (chunk.type === 'finish' && (chunk.reason === 'stop' || chunk.reason === 'function_call')) {
      if (this.#admitted > 0) return { type: 'finish', reason: 'function_call' };
      return { ...chunk, reason: 'stop' };
    }
    return chunk;
  }
}
