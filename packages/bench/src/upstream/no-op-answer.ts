/** The text of every token, which load generators look for. */
export const token = 'tok ';

/** The behaviour of a model of the upstream. Its name says it: `noop-<tokens>-<milliseconds between them>`, and `-<milliseconds before them>` behind that. */
export interface NoOpModel {
  tokens: number;
  /** With 0, each token follows as soon as the one before it is written. */
  intervalMs: number;
  /** Before the first token; none by default. */
  firstMs?: number;
}

export function modelName({ tokens, intervalMs, firstMs = 0 }: NoOpModel): string {
  return `noop-${tokens}-${intervalMs}${firstMs > 0 ? `-${firstMs}` : ''}`;
}

/** Finds the model in a request without parsing the rest of it. */
export function modelIn(body: string): NoOpModel | undefined {
  const found = /"model":"noop-(\d{1,5})-(\d{1,5})(?:-(\d{1,5}))?"/.exec(body);
  if (!found) return undefined;
  return { tokens: Number(found[1]), intervalMs: Number(found[2]), firstMs: Number(found[3] ?? 0) };
}

const envelope = {
  id: 'chatcmpl-noop',
  object: 'chat.completion.chunk',
  created: 1_700_000_000,
  model: 'noop',
};

/** One token as a chunk of a stream; the first one also names the role. */
export function tokenFrame(isFirst: boolean): string {
  const delta = { ...(isFirst && { role: 'assistant' }), content: token };
  return frame({ ...envelope, choices: [{ index: 0, delta, finish_reason: null }] });
}

/** What follows the last token: the finish reason, the usage, and the end marker. */
export function lastFrames(tokens: number): string {
  const usage = { prompt_tokens: 8, completion_tokens: tokens, total_tokens: 8 + tokens };
  return (
    frame({ ...envelope, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }) +
    frame({ ...envelope, choices: [], usage }) +
    'data: [DONE]\n\n'
  );
}

function frame(chunk: object): string {
  return `data: ${JSON.stringify(chunk)}\n\n`;
}
