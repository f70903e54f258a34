/** An item of a prompt or an answer as its heading and a text to read. */
export interface ItemText {
  title: string;
  text: string;
}

/** Reads the text of an item. Its other parts are named, or shown as JSON. */
export function itemText(item: unknown): ItemText {
  const members = membersOf(item);
  const type = typeof members['type'] === 'string' ? members['type'] : 'message';
  switch (type) {
    case 'message':
      return { title: textOf(members['role'], 'message'), text: contentText(members['content']) };
    case 'reasoning':
      return { title: 'reasoning', text: contentText(members['summary']) };
    case 'function_call':
      return { title: `call of ${textOf(members['name'], 'a tool')}`, text: textOf(members['arguments']) };
    case 'custom_tool_call':
      return { title: `call of ${textOf(members['name'], 'a tool')}`, text: textOf(members['input']) };
    case 'function_call_output':
    case 'custom_tool_call_output':
      return { title: 'tool output', text: contentText(members['output']) };
    default:
      return { title: type, text: JSON.stringify(item, undefined, 2) };
  }
}

function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return content === undefined ? '' : JSON.stringify(content, undefined, 2);
  return content.map((part: unknown) => partText(membersOf(part))).join('\n');
}

/** Media are named and not loaded: an address in a prompt could be anybody's. */
function partText(part: Record<string, unknown>): string {
  for (const name of ['text', 'refusal']) {
    const value = part[name];
    if (typeof value === 'string') return value;
  }
  return `[${textOf(part['type'], 'part')}]`;
}

function textOf(value: unknown, otherwise = ''): string {
  return typeof value === 'string' ? value : otherwise;
}

function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
