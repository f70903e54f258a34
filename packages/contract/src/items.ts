import { z } from 'zod';
import { isPrivateHost } from './private-host.ts';
import { toolNameSchema } from './tool-names.ts';

/** Longest text of one field, in UTF-16 code units (Open Responses 2026-04-24). */
const maxText = 10_485_760;
const maxImage = 20_971_520;
const maxFile = 33_554_432;

const text = z.string().max(maxText);
const detail = z.enum(['low', 'high', 'auto', 'original']).nullish();

const inputTextSchema = z.object({ type: z.literal('input_text'), text });
const inputImageSchema = z
  .object({
    type: z.literal('input_image'),
    image_url: z.string().max(maxImage).nullish(),
    file_id: z.string().max(256).nullish(),
    detail,
  })
  .superRefine(checkImage);
const inputFileSchema = z
  .object({
    type: z.literal('input_file'),
    filename: z.string().max(1024).nullish(),
    file_data: z.string().max(maxFile).nullish(),
    file_url: z.string().max(8192).nullish(),
    file_id: z.string().max(256).nullish(),
    detail,
  })
  .superRefine(checkFile);
const inputVideoSchema = z
  .object({ type: z.literal('input_video'), video_url: z.string().max(maxImage) })
  .superRefine((part, context) => {
    if (part.video_url.startsWith('data:')) return;
    const problem = urlProblem(part.video_url);
    if (problem !== undefined) report(context, 'invalid_value', ['video_url'], problem);
  });
const historyTextSchema = z.object({
  type: z.literal('output_text'),
  text,
  annotations: z.array(z.unknown()).nullish(),
});
const historyRefusalSchema = z.object({ type: z.literal('refusal'), refusal: text });

const userPart = z.discriminatedUnion('type', [inputTextSchema, inputImageSchema, inputFileSchema]);
const systemPart = z.discriminatedUnion('type', [inputTextSchema]);
const assistantPart = z.discriminatedUnion('type', [
  historyTextSchema,
  historyRefusalSchema,
  inputTextSchema,
]);
const toolOutputPart = z.discriminatedUnion('type', [
  inputTextSchema,
  inputImageSchema,
  inputFileSchema,
  inputVideoSchema,
]);

const callId = z.string().min(1).max(64);
const itemId = z.string().max(256).nullish();
const itemStatus = z.enum(['in_progress', 'completed', 'incomplete']).nullish();

const messageFields = { type: z.literal('message'), id: itemId, status: itemStatus };
const messageSchema = z.discriminatedUnion('role', [
  z.object({ ...messageFields, role: z.literal('user'), content: z.union([text, z.array(userPart)]) }),
  z.object({ ...messageFields, role: z.literal('system'), content: z.union([text, z.array(systemPart)]) }),
  z.object({ ...messageFields, role: z.literal('developer'), content: z.union([text, z.array(systemPart)]) }),
  z.object({
    ...messageFields,
    role: z.literal('assistant'),
    content: z.union([text, z.array(assistantPart)]),
    phase: z.enum(['commentary', 'final_answer']).nullish(),
  }),
]);

const functionCallSchema = z.object({
  type: z.literal('function_call'),
  id: itemId,
  status: itemStatus,
  call_id: callId,
  name: toolNameSchema,
  arguments: text,
  namespace: z.string().max(256).nullish(),
});
const functionCallOutputSchema = z
  .object({
    type: z.literal('function_call_output'),
    id: itemId,
    status: itemStatus,
    call_id: callId.nullish(),
    name: z.string().max(256).nullish(),
    output: z.union([text, z.array(toolOutputPart)]),
  })
  .superRefine((item, context) => {
    // Newer clients may name the tool and leave out the call id. One of the two is needed.
    if (item.call_id == null && item.name == null) report(context, 'missing_required_parameter', ['call_id']);
  });
const reasoningSchema = z.object({
  type: z.literal('reasoning'),
  id: itemId,
  status: itemStatus,
  summary: z.array(z.object({ type: z.literal('summary_text'), text })),
  content: z.array(z.object({ type: z.enum(['reasoning_text', 'text']), text })).nullish(),
  encrypted_content: z.string().max(maxText).nullish(),
});
const itemReferenceSchema = z.object({ type: z.literal('item_reference'), id: z.string().min(1).max(256) });
const compactionSchema = z.object({
  type: z.literal('compaction'),
  id: itemId,
  encrypted_content: z.string().max(maxText),
});
const customToolCallSchema = z.object({
  type: z.literal('custom_tool_call'),
  id: itemId,
  call_id: callId,
  name: z.string().min(1).max(128),
  input: text,
});
const customToolCallOutputSchema = z.object({
  type: z.literal('custom_tool_call_output'),
  id: itemId,
  call_id: callId,
  output: z.union([text, z.array(toolOutputPart)]),
});

/** Items of hosted tools that this service does not run. They are kept with the input, and left out of the prompt. */
const toleratedTypes = [
  'web_search_call',
  'file_search_call',
  'code_interpreter_call',
  'image_generation_call',
  'computer_call',
  'computer_call_output',
  'mcp_call',
  'mcp_list_tools',
  'mcp_approval_request',
  'mcp_approval_response',
  'local_shell_call',
  'local_shell_call_output',
  'shell_call',
  'shell_call_output',
  'apply_patch_call',
  'apply_patch_call_output',
  'tool_search_call',
  'tool_search_output',
  'additional_tools',
  'configuration_update',
  'program',
  'program_output',
  'agent_message',
  'multi_agent_call',
  'multi_agent_call_output',
  'compaction_trigger',
] as const;
const toleratedSchema = z.looseObject({ type: z.enum(toleratedTypes), id: itemId });

/**
 * One element of `input`.
 *
 * An element without `type` is a message if it has a `role`: the AI SDK, Agents and LangChain send messages so. It is
 * an item reference if it has only an `id`.
 */
export const inputItemSchema = z.preprocess(
  withType,
  z.discriminatedUnion('type', [
    messageSchema,
    functionCallSchema,
    functionCallOutputSchema,
    reasoningSchema,
    itemReferenceSchema,
    compactionSchema,
    customToolCallSchema,
    customToolCallOutputSchema,
    toleratedSchema,
  ]),
);

export type InputItem = z.output<typeof inputItemSchema>;
export type InputMessage = z.output<typeof messageSchema>;
export type InputPart =
  | z.output<typeof userPart>
  | z.output<typeof assistantPart>
  | z.output<typeof toolOutputPart>;
export type FunctionCallOutputItem = z.output<typeof functionCallOutputSchema>;

export const maxInputItems = 4096;

export const inputSchema = z.union([text, z.array(inputItemSchema).max(maxInputItems)]);

/** Returns the input as a list. A text becomes one user message with one part. */
export function normalizeInput(input: z.output<typeof inputSchema>): InputItem[] {
  if (typeof input !== 'string') return input;
  return [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: input }] }];
}

function withType(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  if ('type' in value && value.type != null) return value;
  if ('role' in value) return { ...value, type: 'message' };
  if ('id' in value) return { ...value, type: 'item_reference' };
  return value;
}

interface Context {
  addIssue: (issue: { code: 'custom'; path: string[]; params: { code: string; message?: string } }) => void;
}

function report(context: Context, code: string, path: string[], message?: string): void {
  context.addIssue({ code: 'custom', path, params: { code, ...(message !== undefined && { message }) } });
}

function checkImage(
  part: { image_url?: string | null | undefined; file_id?: string | null | undefined },
  context: Context,
): void {
  if (part.image_url == null) {
    // Whether there is such a file is known to the service alone.
    if (part.file_id == null) report(context, 'missing_required_parameter', ['image_url']);
  } else if (part.image_url.startsWith('data:')) {
    const problem = dataUrlProblem(part.image_url);
    if (problem) report(context, problem, ['image_url']);
  } else {
    const problem = urlProblem(part.image_url);
    if (problem !== undefined) report(context, 'invalid_image_url', ['image_url'], problem);
  }
}

function checkFile(
  part: {
    file_data?: string | null | undefined;
    file_url?: string | null | undefined;
    file_id?: string | null | undefined;
  },
  context: Context,
): void {
  if (part.file_data == null && part.file_url == null) {
    if (part.file_id == null) report(context, 'missing_required_parameter', ['file_data']);
    return;
  }
  const problem = part.file_url == null ? undefined : urlProblem(part.file_url);
  if (problem !== undefined) {
    report(context, 'invalid_value', ['file_url'], problem);
  } else if (part.file_data != null && !isFileData(part.file_data)) {
    report(context, 'invalid_value', ['file_data']);
  }
}

/** Whether a value is base64, alone or as a data URL of any type. */
function isFileData(value: string): boolean {
  if (!value.startsWith('data:')) return isBase64(value, 0);
  const comma = value.indexOf(',');
  return value.slice(0, Math.max(comma, 0)).endsWith(';base64') && isBase64(value, comma + 1);
}

function dataUrlProblem(url: string): 'invalid_image_format' | 'invalid_base64_image' | undefined {
  const comma = url.indexOf(',');
  const head = url.slice(0, Math.max(comma, 0));
  if (!/^data:image\/[a-z0-9.+-]+;base64$/i.test(head)) return 'invalid_image_format';
  return isBase64(url, comma + 1) ? undefined : 'invalid_base64_image';
}

/** Any character that is of neither alphabet: that with + and /, and the URL-safe one with - and _. */
const notBase64 = /[^A-Za-z0-9+/_-]/g;

/**
 * Whether a value is base64 from a position on. An image can have twenty million characters, so nothing is copied, and a
 * regular expression looks for the first wrong one: a loop with a comparison for each range takes seven times as long, because
 * no processor foresees which kind of character is next.
 */
function isBase64(value: string, from: number): boolean {
  let end = value.length;
  while (end > from && end > value.length - 2 && value[end - 1] === '=') end -= 1;
  if (end === from || (value.length - from) % 4 === 1) return false;
  notBase64.lastIndex = from;
  const wrong = notBase64.exec(value);
  return wrong === null || wrong.index >= end;
}

/**
 * Why a URL of a client is refused, whoever would fetch it; undefined if it is not. Neither this service nor an upstream is to
 * be led to an address inside.
 */
function urlProblem(value: string): string | undefined {
  const url = value.length > 8192 ? null : URL.parse(value);
  if (!url || !/^https?:$/.test(url.protocol)) return 'The URL must begin with https:// or http://.';
  if (url.username !== '' || url.password !== '' || url.hash !== '') {
    return 'The URL must have neither credentials nor a fragment.';
  }
  return isPrivateHost(url.hostname)
    ? 'The host of the URL is not public. Send the content as a data URL.'
    : undefined;
}
