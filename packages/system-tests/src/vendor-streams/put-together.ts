/** Answers put together from their frames, as the vendors' clients do it. Only members that a response has a place for are kept. */

type Json = Record<string, unknown>;

/** The data of each frame of a stream, without `[DONE]`. */
export function framesIn(stream: string): Json[] {
  return stream.split('\n').flatMap((line) => {
    const data = line.startsWith('data: ') ? line.slice(6) : '[DONE]';
    return data === '[DONE]' ? [] : [JSON.parse(data) as Json];
  });
}

interface ChatDelta {
  content?: string | null;
  refusal?: string | null;
  reasoning_content?: string | null;
  annotations?: object[];
  tool_calls?: { index: number; id?: string; function: { name?: string; arguments?: string } }[];
}

interface ChatFrame {
  choices?: {
    delta: ChatDelta;
    logprobs: { content: object[] | null } | null;
    finish_reason: string | null;
  }[];
  usage?: {
    prompt_tokens: number;
    completion_tokens: number;
    total_tokens: number;
    prompt_tokens_details: { cached_tokens: number };
    completion_tokens_details: { reasoning_tokens: number };
  } | null;
}

export interface ChatAnswer {
  content: string;
  refusal: string;
  reasoning: string;
  annotations: object[];
  calls: { id: string; name: string; arguments: string }[];
  logprobs: object[];
  finish: string | null;
  usage: number[];
}

/** A chat completion from the frames of its stream. */
export function chatAnswer(frames: readonly Json[]): ChatAnswer {
  const answer: ChatAnswer = {
    content: '',
    refusal: '',
    reasoning: '',
    annotations: [],
    calls: [],
    logprobs: [],
    finish: null,
    usage: [],
  };
  // The frames are those of the protocol.
  for (const { choices = [], usage } of frames as readonly ChatFrame[]) {
    if (usage) answer.usage = chatUsage(usage);
    for (const { delta, logprobs, finish_reason: finish } of choices) {
      answer.content += delta.content ?? '';
      answer.refusal += delta.refusal ?? '';
      answer.reasoning += delta.reasoning_content ?? '';
      answer.annotations.push(...(delta.annotations ?? []));
      answer.logprobs.push(...(logprobs?.content ?? []));
      answer.finish = finish ?? answer.finish;
      for (const { index, id, function: called } of delta.tool_calls ?? []) {
        const call = (answer.calls[index] ??= { id: id ?? '', name: '', arguments: '' });
        call.name += called.name ?? '';
        call.arguments += called.arguments ?? '';
      }
    }
  }
  return answer;
}

/** The same of a whole chat completion. */
export function wholeChatAnswer(body: Json): ChatAnswer {
  const { choices = [], usage } = body as {
    choices?: { message: ChatDelta; logprobs: { content: object[] } | null; finish_reason: string }[];
    usage?: NonNullable<ChatFrame['usage']>;
  };
  return chatAnswer([
    {
      choices: choices.map(({ message, logprobs, finish_reason }) => ({
        delta: {
          ...message,
          tool_calls: message.tool_calls?.map((call, index) => ({ ...call, index })),
        },
        logprobs,
        finish_reason,
      })),
      usage,
    },
  ]);
}

function chatUsage(usage: NonNullable<ChatFrame['usage']>): number[] {
  return [
    usage.prompt_tokens,
    usage.completion_tokens,
    usage.total_tokens,
    usage.prompt_tokens_details.cached_tokens,
    usage.completion_tokens_details.reasoning_tokens,
  ];
}

interface Block {
  type: string;
  text?: string;
  thinking?: string;
  signature?: string;
  data?: string;
  id?: string;
  name?: string;
  input?: unknown;
}

interface MessageFrame {
  type: string;
  index?: number;
  message?: { usage: MessageUsage };
  content_block?: Block;
  delta?: {
    text?: string;
    thinking?: string;
    signature?: string;
    partial_json?: string;
    stop_reason?: string;
    stop_sequence?: string | null;
  };
  usage?: MessageUsage;
}

interface MessageUsage {
  input_tokens: number;
  cache_creation_input_tokens: number;
  cache_read_input_tokens: number;
  output_tokens: number;
}

export interface MessageAnswer {
  /** Texts that follow each other are one. Of what is sealed, it is told that it is there. */
  blocks: (Omit<Block, 'signature' | 'data'> & { isSealed?: boolean })[];
  stopReason: string | null;
  stopSequence: string | null;
  usage: number[];
}

/** A message from the frames of its stream. */
export function messageAnswer(frames: readonly Json[]): MessageAnswer {
  const blocks: Block[] = [];
  let stopReason: string | null = null;
  let stopSequence: string | null = null;
  let usage: number[] = [];
  // The frames are those of the protocol.
  for (const frame of frames as unknown as MessageFrame[]) {
    const { index = -1, delta } = frame;
    const block = blocks[index];
    if (frame.content_block)
      blocks[index] = { ...frame.content_block, ...('input' in frame.content_block && { input: '' }) };
    if (block && delta?.text !== undefined) block.text = `${block.text}${delta.text}`;
    if (block && delta?.thinking !== undefined) block.thinking = `${block.thinking}${delta.thinking}`;
    if (block && delta?.signature !== undefined) block.signature = delta.signature;
    if (block && delta?.partial_json !== undefined)
      block.input = `${String(block.input)}${delta.partial_json}`;
    stopReason = delta?.stop_reason ?? stopReason;
    stopSequence = delta?.stop_sequence ?? stopSequence;
    if (frame.usage) usage = messageUsage(frame.usage);
  }
  return { blocks: joined(blocks), stopReason, stopSequence, usage };
}

/** The same of a whole message, given as JSON: inputs are compared as they were written. */
export function wholeMessageAnswer(json: string): MessageAnswer {
  const {
    content,
    stop_reason: stopReason,
    stop_sequence: stopSequence,
    usage,
  } = JSON.parse(json) as {
    content: Block[];
    stop_reason: string;
    stop_sequence: string | null;
    usage: MessageUsage;
  };
  const inputs = [...json.matchAll(/"input":(\{.*?\})\}/g)].map(([, input]) => input);
  const written = content.map((block) => ('input' in block ? { ...block, input: inputs.shift() } : block));
  return { blocks: joined(written), stopReason, stopSequence, usage: messageUsage(usage) };
}

function joined(blocks: readonly Block[]): MessageAnswer['blocks'] {
  const made: MessageAnswer['blocks'] = [];
  for (const { type, text, thinking, signature, data, id, name, input } of blocks) {
    const last = made.at(-1);
    if (type === 'text' && last?.type === 'text') last.text = `${last.text}${text}`;
    else if (type === 'text') made.push({ type, text: text ?? '' });
    else if (type === 'tool_use')
      made.push({ type, id: id ?? '', name: name ?? '', input: input === '' ? '{}' : input });
    else
      made.push({
        type,
        ...(thinking !== undefined && { thinking }),
        isSealed: (signature ?? data ?? '') !== '',
      });
  }
  return made;
}

function messageUsage(usage: MessageUsage): number[] {
  return [
    usage.input_tokens,
    usage.cache_creation_input_tokens,
    usage.cache_read_input_tokens,
    usage.output_tokens,
  ];
}
