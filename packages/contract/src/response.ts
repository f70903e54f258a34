import type { FunctionTool, TextFormat, ToolChoice } from './create-response.ts';
import type { ErrorBody } from './errors.ts';
import type { OutputItem, Usage } from './output.ts';
import { outputText } from './output.ts';
import type { CreateResponse } from './parse-create-response.ts';

export const statuses = ['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled'] as const;
export type Status = (typeof statuses)[number];

export type ServiceTier = 'default' | 'flex' | 'priority';
export type IncompleteReason = 'max_output_tokens' | 'content_filter' | 'max_tool_calls' | 'cancelled';

/**
 * The response object as clients see it, apart from `object`, which belongs to the mount it is sent from.
 *
 * Every member is always there; SDKs and the public compliance suite miss them otherwise.
 */
export interface Response {
  id: string;
  created_at: number;
  completed_at: number | null;
  status: Status;
  incomplete_details: { reason: IncompleteReason } | null;
  error: ErrorBody | null;
  model: string;
  output: OutputItem[];
  output_text: string;
  usage: Usage | null;
  instructions: string | null;
  previous_response_id: string | null;
  tools: EchoedTool[];
  tool_choice: EchoedToolChoice;
  parallel_tool_calls: boolean;
  text: { format: EchoedFormat; verbosity?: 'low' | 'medium' | 'high' };
  temperature: number;
  top_p: number;
  presence_penalty: number;
  frequency_penalty: number;
  top_logprobs: number;
  reasoning: { effort: Effort | null; summary: 'auto' | 'concise' | 'detailed' | null } | null;
  max_output_tokens: number | null;
  max_tool_calls: number | null;
  truncation: 'auto' | 'disabled';
  store: boolean;
  background: boolean;
  service_tier: ServiceTier;
  metadata: Record<string, string>;
  safety_identifier: string | null;
  prompt_cache_key: string | null;
  user?: string;
}

export type Effort = 'none' | 'low' | 'medium' | 'high' | 'xhigh';

interface EchoedTool {
  type: 'function';
  name: string;
  description: string | null;
  parameters: Record<string, unknown> | null;
  strict: boolean | null;
}

type EchoedToolChoice =
  | Exclude<ToolChoice, { type: 'allowed_tools' }>
  | {
      type: 'allowed_tools';
      mode: 'none' | 'auto' | 'required';
      tools: { type: 'function'; name: string }[];
    };

type EchoedFormat =
  | { type: 'text' }
  | { type: 'json_object' }
  | {
      type: 'json_schema';
      name: string;
      description: string | null;
      schema: Record<string, unknown>;
      strict: boolean;
    };

/** What the end of a response adds to it. */
export type ResponseEnd = Pick<
  Response,
  'status' | 'completed_at' | 'incomplete_details' | 'error' | 'output' | 'usage'
>;

export interface Acceptance {
  id: string;
  /** Unix seconds, by the clock of the store. */
  createdAt: number;
  serviceTier: ServiceTier;
}

/**
 * The response as it stands right after the accept: what was asked for, with defaults filled in.
 *
 * Pure: whoever has the request and the acceptance builds the same object, so only those two are stored.
 */
export function responseFor(request: Omit<CreateResponse, 'input'>, acceptance: Acceptance): Response {
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
    parallel_tool_calls: request.parallel_tool_calls ?? true,
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

/** The response after its end. */
export function withEnd(response: Response, end: ResponseEnd): Response {
  return { ...response, ...end, output_text: outputText(end.output) };
}

/** The tier a request asks for, before the key's own tiers are considered. */
export function requestedTier(tier: CreateResponse['service_tier']): ServiceTier {
  switch (tier) {
    case undefined:
    case 'auto':
    case 'default':
      return 'default';
    case 'flex':
      return 'flex';
    case 'priority':
    case 'scale':
    case 'fast':
    case 'ultrafast':
      return 'priority';
  }
}

/** Efforts that only newer clients know, as the nearest one of the standard. */
export function effectiveEffort(effort: NonNullable<CreateResponse['reasoning']>['effort']): Effort | null {
  if (effort === 'minimal') return 'low';
  if (effort === 'max') return 'xhigh';
  return effort ?? null;
}

function echoTool(tool: FunctionTool): EchoedTool {
  return {
    type: 'function',
    name: tool.name,
    description: tool.description ?? null,
    parameters: tool.parameters ?? null,
    strict: tool.strict ?? null,
  };
}

function echoToolChoice(choice: ToolChoice | undefined): EchoedToolChoice {
  if (choice === undefined) return 'auto';
  if (typeof choice === 'string' || choice.type === 'function') return choice;
  return { type: 'allowed_tools', mode: choice.mode ?? 'auto', tools: choice.tools };
}

/** A `json_schema` format that names no schema (the AI SDK sends such) asks for any JSON object. */
export function echoFormat(format: TextFormat | null | undefined): EchoedFormat {
  if (!format) return { type: 'text' };
  if (format.type !== 'json_schema') return format;
  if (!format.schema) return { type: 'json_object' };
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
