import {
  allowsParallelCalls,
  echoFormat,
  effectiveEffort,
  type Tool as GivenTool,
  type Generation,
} from '@sluice/contract';
import { callableTools } from '../allowed-calls.ts';
import { type CacheMark, cacheMarks, type CacheMarks } from '../cache-marks.ts';
import { present } from '../json-fields.ts';
import { customAsFunction } from '../openai/custom-tools.ts';
import type { MediaPolicy } from '../upstream/media-policy.ts';
import { promptMessages } from './prompt-messages.ts';
import type { CallOptions, Tool } from './specification.ts';

/**
 * Turns a generation into the options of a call.
 *
 * Members are set only if the client set them, so that the package's own defaults apply. The specification has no
 * counterpart of `text.verbosity`, `truncation`, `top_logprobs`, `user` and `prompt_cache_key`. A package leaves out
 * what its vendor does not have. Marks for caches go to Anthropic's own package alone: their texts stay apart, and some upstreams refuse a
 * second message of the system.
 *
 * @throws {ProviderError} `invalid_prompt` for media that this upstream must not be given.
 */
export function callOptions(
  generation: Generation,
  policy: MediaPolicy & { specificationVersion: string; takesCacheMarks?: boolean },
): CallOptions {
  const isCurrent = policy.specificationVersion === 'v4';
  const { providerId, fetchesUrls, takesCacheMarks = false } = policy;
  const marks = takesCacheMarks ? cacheMarks(generation) : undefined;
  return {
    prompt: promptMessages(generation, { providerId, fetchesUrls, tagsFiles: isCurrent, marks }),
    // `present` keeps the types of the members.
    ...(present({
      maxOutputTokens: generation.max_output_tokens,
      temperature: generation.temperature,
      topP: generation.top_p,
      presencePenalty: generation.presence_penalty,
      frequencyPenalty: generation.frequency_penalty,
      stopSequences: generation.stop,
      seed: generation.seed,
      responseFormat: responseFormat(generation),
      // Earlier versions of the specification have no effort.
      reasoning: isCurrent ? effectiveEffort(generation.reasoning?.effort) : undefined,
      providerOptions: vendorOptions(generation),
    }) as Partial<CallOptions>),
    ...toolOptions(generation, marks),
  };
}

function responseFormat({ text }: Generation): CallOptions['responseFormat'] {
  const format = echoFormat(text?.format);
  if (format.type === 'text') return undefined;
  if (format.type === 'json_object') return { type: 'json' };
  const { name, description, schema } = format;
  return { type: 'json', schema, name, ...(description !== null && { description }) };
}

/** The specification has no set of allowed tools. Only the tools of the set are sent, and its mode becomes the choice. */
function toolOptions(
  generation: Generation,
  marks: CacheMarks | undefined,
): Pick<CallOptions, 'tools' | 'toolChoice'> {
  const given = generation.tools ?? [];
  if (given.length === 0) return {};
  const { tools, demand } = callableTools(generation);
  const functionTool = (tool: GivenTool) => toolOf(tool, marks?.tools.get(given.indexOf(tool)));
  if (demand === 'none') return { tools: given.map(functionTool), toolChoice: { type: 'none' } };
  const choice = generation.tool_choice;
  const named = typeof choice === 'object' && choice.type !== 'allowed_tools' ? choice.name : undefined;
  return {
    // A named tool is sent with all the others, so that the model still knows every tool.
    tools: (named === undefined ? tools : given).map(functionTool),
    ...(choice !== undefined && {
      toolChoice: named === undefined ? { type: demand } : { type: 'tool', toolName: named },
    }),
  };
}

/** The specification has only functions. */
function toolOf(given: GivenTool, mark: CacheMark | undefined): Tool {
  const { name, description, parameters, strict } = given.type === 'custom' ? customAsFunction(given) : given;
  return {
    type: 'function',
    name,
    ...(description != null && { description }),
    inputSchema: parameters ?? { type: 'object', properties: {} },
    ...(strict != null && { strict }),
    ...(mark && { providerOptions: { anthropic: { cacheControl: mark } } }),
  };
}

/**
 * Options that only some vendors have, under the names of their packages. A package reads its own member alone. Parallel calls
 * after the first are dropped from the stream as well. Gemini sends its thoughts only when asked.
 */
function vendorOptions(generation: Generation): CallOptions['providerOptions'] {
  const wantsOneCall = (generation.tools ?? []).length > 0 && !allowsParallelCalls(generation);
  const { effort, summary, generate_summary: legacySummary } = generation.reasoning ?? {};
  const wantsThoughts = effort !== 'none' && (summary ?? legacySummary ?? effort) != null;
  if (!wantsOneCall && !wantsThoughts) return undefined;
  return {
    ...(wantsOneCall && {
      anthropic: { disableParallelToolUse: true },
      mistral: { parallelToolCalls: false },
      openai: { parallelToolCalls: false },
    }),
    ...(wantsThoughts && { google: { thinkingConfig: { includeThoughts: true } } }),
  };
}
