import type { TextFormat, Tool, ToolChoice } from './create-response.ts';
import { allowsParallelCalls } from './generation.ts';
import { outputText } from './output.ts';
import type { CreateResponse } from './parse-create-response.ts';
import type { Effort, Response, ResponseEnd } from './response.ts';
import type { ServiceTier } from './service-tier.ts';

export interface AcceptedFacts {
  id: string;
  /** Unix seconds, by the clock of the store. */
  createdAt: number;
  serviceTier: ServiceTier;
}

/**
 * Builds the response as it is right after it was accepted: the members of the request, with every default filled in.
 *
 * The function is pure. Any process builds the same object from the request and the acceptance, so the store keeps
 * those two and never the object.
 */
// oxlint-disable-next-line complexity -- a default for each member, and no other branch
export function responseFor(request: Omit<CreateResponse, 'input'>, acceptance: AcceptedFacts): Response {
  return {
    id: acceptance.id,
    created_at: acceptance.createdAt,
    completed_at: null,
    status: 'queued',
    incomplete_details: null,
    error: null,
    model: request.model,
    output: [],
    output_text: '',
    usage: null,
    instructions: request.instructions ?? null,
    previous_response_id: request.previous_response_id ?? null,
    tools: (request.tools ?? []).map(echoTool),
    tool_choice: echoToolChoice(request.tool_choice),
    parallel_tool_calls: allowsParallelCalls(request),
    text: {
      format: echoFormat(request.text?.format),
      ...(request.text?.verbosity && { verbosity: request.text.verbosity }),
    },
    temperature: request.temperature ?? 1,
    top_p: request.top_p ?? 1,
    presence_penalty: request.presence_penalty ?? 0,
    frequency_penalty: request.frequency_penalty ?? 0,
    top_logprobs: request.top_logprobs ?? 0,
    reasoning: echoReasoning(request.reasoning),
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: request.max_tool_calls ?? null,
    truncation: request.truncation ?? 'disabled',
    store: request.store ?? true,
    background: request.background ?? false,
    service_tier: acceptance.serviceTier,
    metadata: request.metadata ?? {},
    safety_identifier: request.safety_identifier ?? null,
    prompt_cache_key: request.prompt_cache_key ?? null,
    ...(request.user !== undefined && { user: request.user }),
  };
}

/** Returns the response with what its end adds. */
export function withEnd(response: Response, end: ResponseEnd): Response {
  return { ...response, ...end, output_text: outputText(end.output) };
}

/** Maps an effort that the standard does not have to the nearest one that it has. */
export function effectiveEffort(effort: NonNullable<CreateResponse['reasoning']>['effort']): Effort | null {
  if (effort === 'minimal') return 'low';
  if (effort === 'max') return 'xhigh';
  return effort ?? null;
}

function echoTool(tool: Tool): Response['tools'][number] {
  if (tool.type === 'custom') {
    const { type, name, description, format } = tool;
    return { type, name, ...(description != null && { description }), format: format ?? { type: 'text' } };
  }
  return {
    type: 'function',
    name: tool.name,
    description: tool.description ?? null,
    parameters: tool.parameters ?? null,
    strict: tool.strict ?? null,
  };
}

function echoToolChoice(choice: ToolChoice | undefined): Response['tool_choice'] {
  if (choice === undefined) return 'auto';
  if (typeof choice === 'string' || choice.type !== 'allowed_tools') return choice;
  return { type: 'allowed_tools', mode: choice.mode ?? 'auto', tools: choice.tools };
}

/** Returns the format as the response shows it. */
export function echoFormat(format: TextFormat | null | undefined): Response['text']['format'] {
  if (!format) return { type: 'text' };
  if (format.type !== 'json_schema') return format;
  return {
    type: 'json_schema',
    name: format.name ?? 'response',
    description: format.description ?? null,
    schema: format.schema,
    strict: format.strict ?? false,
  };
}

function echoReasoning(reasoning: CreateResponse['reasoning']): Response['reasoning'] {
  if (!reasoning) return null;
  return {
    effort: effectiveEffort(reasoning.effort),
    summary: reasoning.summary ?? reasoning.generate_summary ?? null,
  };
}
