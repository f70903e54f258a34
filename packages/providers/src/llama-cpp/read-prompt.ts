import type { Sequence } from './library.ts';

/** So many tokens are read between two looks at the signal: seconds on a slow machine with a large model. */
const pieceTokens = 128;

/**
 * Has a model read the tokens of a prompt, except the last: the generation begins with that.
 *
 * The library reads a prompt to its end whatever becomes of its caller, which takes minutes on a slow machine. What it has
 * read before is not read again.
 *
 * Rejects with the signal's reason after the piece that is being read.
 */
export async function readPrompt(
  sequence: Pick<Sequence, 'evaluateWithoutGeneratingNewTokens'>,
  tokens: readonly unknown[],
  signal: AbortSignal,
): Promise<void> {
  const end = tokens.length - 1;
  for (let at = 0; at < end; at += pieceTokens) {
    signal.throwIfAborted();
    await sequence.evaluateWithoutGeneratingNewTokens(tokens.slice(at, Math.min(at + pieceTokens, end)));
  }
  signal.throwIfAborted();
}
