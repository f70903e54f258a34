import { isObject, listOf, textOf } from '../json-fields.ts';

/** Characters of an upstream's words that are looked at. */
const mostLookedAt = 400;

/**
 * The upstream's own words for a failure, from the body of its answer or the error in its stream. They are unchanged, so
 * they may quote the prompt, an answer or a key.
 */
export function upstreamWords(said: unknown): { upstreamWords?: string } {
  const found = typeof said === 'string' ? wordsOfBody(said) : wordsOfError(said);
  const words = found?.slice(0, mostLookedAt).trim();
  return words ? { upstreamWords: words } : {};
}

function wordsOfBody(body: string): string | undefined {
  const parsed = parse(body);
  if (parsed !== undefined) return wordsOfError(parsed);
  // A page of a proxy says it between its tags.
  return body
    .slice(0, 4 * mostLookedAt)
    .replaceAll(/<(style|script|head)\b[^]*?(?:<\/\1>|$)/gi, ' ')
    .replaceAll(/<[^>]*>/g, ' ');
}

/** The sentence of an error, in the shapes that servers give it. Other members repeat the request. */
function wordsOfError(error: unknown): string | undefined {
  if (typeof error === 'string') return error;
  if (!isObject(error)) return undefined;
  const inside = error['error'];
  if (typeof inside === 'string' || isObject(inside)) return wordsOfError(inside);
  const [detail] = listOf(error['detail']);
  return (
    textOf(error['message']) ??
    textOf(error['detail']) ??
    textOf(isObject(detail) ? detail['msg'] : undefined)
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
