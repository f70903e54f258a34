import type { Question } from './conversations.ts';

interface Part {
  text?: string;
}

interface ResponsesItem {
  type: string;
  role?: string;
  content?: string | Part[];
  output?: string | Part[];
}

interface ChatMessage {
  role: string;
  content?: string | Part[] | null;
}

/** Reads the body of `POST /v1/responses`, as our provider sends it. */
export function questionOfResponses(body: unknown): Question {
  // What our own provider sends has been through the contract.
  const { input, tools = [] } = body as { input: ResponsesItem[]; tools?: { name: string }[] };
  const messages = input.map(({ type, role, content, output }) =>
    type === 'function_call_output'
      ? { role: 'tool', text: textOf(output) }
      : { role, text: textOf(content) },
  );
  return questionIn(
    messages,
    tools.map(({ name }) => name),
  );
}

/** Reads the body of `POST /v1/chat/completions`, as our provider sends it. */
export function questionOfChat(body: unknown): Question {
  // The same.
  const { messages, tools = [] } = body as {
    messages: ChatMessage[];
    tools?: { function: { name: string } }[];
  };
  return questionIn(
    messages.map(({ role, content }) => ({ role, text: textOf(content) })),
    tools.map((tool) => tool.function.name),
  );
}

function questionIn(messages: { role: string | undefined; text: string }[], tools: string[]): Question {
  const last = messages.findLastIndex(({ role }) => role === 'user');
  return {
    prompt: messages[last]?.text ?? '',
    toolOutputs: messages
      .slice(last + 1)
      .filter(({ role }) => role === 'tool')
      .map(({ text }) => text),
    history: messages
      .filter(({ role, text }) => (role === 'user' || role === 'assistant') && text !== '')
      .map(({ role, text }) => `${role}: ${text}`),
    tools,
  };
}

function textOf(content: string | Part[] | null | undefined): string {
  const text =
    typeof content === 'string' ? content : (content ?? []).map((part) => part.text ?? '').join('');
  return text.replaceAll(reminder, '').trim();
}

/** Claude Code adds to prompts what its user has not written. */
const reminder = /<system-reminder>.*?<\/system-reminder>/gs;
