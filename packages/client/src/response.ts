/** Responses and requests as they go over the wire, as far as a client looks into them. Tests hold them against the contract. */

/** How far a response is. The last four are the end. */
export type Status = 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled';

export interface OutputText {
  type: 'output_text';
  text: string;
  annotations?: Annotation[] | undefined;
}
/** Something about a text, such as the source that it cites. */
export interface Annotation {
  type: string;
  [member: string]: unknown;
}
export interface Refusal {
  type: 'refusal';
  refusal: string;
}
export interface ReasoningText {
  type: 'reasoning_text';
  text: string;
}
export interface SummaryText {
  type: 'summary_text';
  text: string;
}

/** What a model produced. */
export type OutputItem =
  | { type: 'message'; id: string; status: string; role: 'assistant'; content: (OutputText | Refusal)[] }
  | { type: 'function_call'; id: string; status: string; call_id: string; name: string; arguments: string }
  | { type: 'custom_tool_call'; id: string; status: string; call_id: string; name: string; input: string }
  | {
      type: 'reasoning';
      id: string;
      summary: SummaryText[];
      content?: ReasoningText[] | undefined;
      /** Sealed; it brings the model its thoughts back in a later request. */
      encrypted_content?: string | undefined;
    };

export interface Usage {
  input_tokens: number;
  output_tokens: number;
  total_tokens: number;
}

/** Why a response failed. */
export interface Failure {
  code: string;
  message: string;
  type: string;
  param: string | null;
}

export interface ResponseObject {
  id: string;
  /** `response`, or `create_response` at the mount `/api/v1`. */
  object: string;
  /** Unix seconds. */
  created_at: number;
  completed_at: number | null;
  status: Status;
  /** The place of one that waits: 1 is next. */
  queue_position?: number | undefined;
  /** When that is expected to start, in Unix seconds; null while nobody can tell. */
  estimated_start_at?: number | null | undefined;
  model: string;
  output: OutputItem[];
  output_text: string;
  error: Failure | null;
  incomplete_details: { reason: string } | null;
  usage: Usage | null;
  background: boolean;
  store: boolean;
  previous_response_id: string | null;
  metadata: Record<string, string>;
}

export interface DeletedResponse {
  id: string;
  object: 'response.deleted';
  deleted: true;
}

/** An element of the input. There are more kinds than those named here. */
export type InputItem =
  | {
      type?: 'message';
      role: 'user' | 'assistant' | 'system' | 'developer';
      content: string | { type: string; [member: string]: unknown }[];
    }
  | { type: string; [member: string]: unknown };

export interface FunctionTool {
  type: 'function';
  name: string;
  description?: string | null;
  /** JSON Schema. */
  parameters?: Record<string, unknown> | null;
  strict?: boolean | null;
}

/** A tool that takes any text. */
export interface CustomTool {
  type: 'custom';
  name: string;
  description?: string | null;
}

/** What can be asked for besides the input. Members that are not named here are sent as they are. */
export interface RequestSettings {
  model: string;
  instructions?: string | null;
  /** Continues without anybody who waits for it. */
  background?: boolean | null;
  /** Whether it can be read after its end; true by default. */
  store?: boolean | null;
  previous_response_id?: string | null;
  tools?: (FunctionTool | CustomTool)[] | null;
  tool_choice?: 'none' | 'auto' | 'required' | { type: 'function' | 'custom'; name: string } | null;
  temperature?: number | null;
  top_p?: number | null;
  max_output_tokens?: number | null;
  metadata?: Record<string, string> | null;
  [member: string]: unknown;
}

export interface CreateRequest extends RequestSettings {
  input: string | InputItem[];
}

const terminal: readonly Status[] = ['completed', 'incomplete', 'failed', 'cancelled'];

/** Whether nothing can follow. */
export function isTerminal(status: Status): boolean {
  return terminal.includes(status);
}
