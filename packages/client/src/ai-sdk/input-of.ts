import type { UIMessage, UIMessageChunk } from 'ai';
import type { InputItem } from '../response.ts';

type Part = UIMessage['parts'][number];

/** A tool call in a message, whichever of its types it has. */
interface ToolPart {
  toolCallId: string;
  toolName: string;
  state: string;
  input: unknown;
  output: unknown;
  errorText: string | undefined;
}

/** A conversation as the input of a request. Reasoning and sources are left out: a model has no use for them. */
export function inputOf(messages: readonly UIMessage[]): InputItem[] {
  return messages.flatMap((message) =>
    message.role === 'assistant'
      ? message.parts.flatMap(saidBefore)
      : [{ type: 'message', role: message.role, content: message.parts.flatMap(asked) }],
  );
}

function asked(part: Part): { type: string; [member: string]: unknown }[] {
  if (part.type === 'text') return [{ type: 'input_text', text: part.text }];
  if (part.type !== 'file') return [];
  if (part.mediaType.startsWith('image'))
    return [{ type: 'input_image', image_url: part.url, detail: 'auto' }];
  const { url, filename = 'file' } = part;
  return [
    { type: 'input_file', filename, ...(url.startsWith('data:') ? { file_data: url } : { file_url: url }) },
  ];
}

function saidBefore(part: Part): InputItem[] {
  if (part.type === 'text')
    return part.text === '' ? [] : [{ type: 'message', role: 'assistant', content: part.text }];
  const tool = toolIn(part);
  // A call without its result is one that a model must not see again.
  if (!tool?.state.startsWith('output-')) return [];
  const { toolCallId, toolName, input, output, errorText } = tool;
  return [
    { type: 'function_call', call_id: toolCallId, name: toolName, arguments: JSON.stringify(input ?? {}) },
    {
      type: 'function_call_output',
      call_id: toolCallId,
      output: errorText ?? (typeof output === 'string' ? output : JSON.stringify(output ?? null)),
    },
  ];
}

/** What a message has already, as the chunks that make it: a response that goes on with it is shown behind them. */
export function chunksOf({ parts }: UIMessage): UIMessageChunk[] {
  return parts.flatMap((part, at): UIMessageChunk[] => {
    const id = `before:${at}`;
    if (part.type === 'step-start') return [{ type: 'start-step' }];
    if (part.type === 'text' || part.type === 'reasoning') {
      const { type, text } = part;
      return [
        { type: `${type}-start`, id },
        { type: `${type}-delta`, id, delta: text },
        { type: `${type}-end`, id },
      ];
    }
    if (isOneChunk(part)) return [part];
    const tool = toolIn(part);
    if (!tool || tool.state === 'input-streaming') return [];
    const { toolCallId, toolName, state, input, output, errorText } = tool;
    const dynamic = part.type === 'dynamic-tool' && { dynamic: true };
    // A chat runs the tool of an input that is available, so a call that was answered shows its input only as it came in.
    const answered: UIMessageChunk[] = [
      { type: 'tool-input-start', toolCallId, toolName, ...dynamic },
      { type: 'tool-input-delta', toolCallId, inputTextDelta: JSON.stringify(input ?? {}) },
    ];
    if (state === 'output-available')
      return [...answered, { type: 'tool-output-available', toolCallId, output, ...dynamic }];
    if (errorText !== undefined)
      return [...answered, { type: 'tool-output-error', toolCallId, errorText, ...dynamic }];
    return [{ type: 'tool-input-available', toolCallId, toolName, input, ...dynamic }];
  });
}

/** Whether a part is a chunk as well, and comes whole: a citation, a file, or data of the application. */
function isOneChunk(part: Part): part is Extract<Part, UIMessageChunk> {
  const { type } = part;
  return wholeParts.has(type) || type.startsWith('data-');
}

const wholeParts: ReadonlySet<string> = new Set([
  'source-url',
  'source-document',
  'file',
  'reasoning-file',
  'custom',
]);

function toolIn(part: Part): ToolPart | undefined {
  if (!('toolCallId' in part)) return undefined;
  const { toolCallId, state, input, output, errorText } = part;
  const toolName = part.type === 'dynamic-tool' ? part.toolName : part.type.slice('tool-'.length);
  return { toolCallId, toolName, state, input, output, errorText };
}
