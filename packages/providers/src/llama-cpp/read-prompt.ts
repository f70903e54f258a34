import type { Sequence } from './library.ts';

/** About how much time passes between two looks at the signal, in milliseconds. */
const pieceMs = 500;
const leastTokens = 16;
/** A batch of llama.cpp: larger pieces are no faster. */
const mostTokens = 512;

/**
 * Has a model read the tokens of a prompt, except the last: the generation begins with that.
 *
 * The library reads a prompt to its end whatever becomes of its caller, which takes minutes on a slow machine. Tokens that
 * it has read before are not read again.
 *
 * Rejects with the signal's reason after the piece that is being read.
 */
export async function readPrompt(
  sequence: Pick<Sequence, 'evaluateWithoutGeneratingNewTokens'>,
  tokens: readonly unknown[],
  signal: AbortSignal,
): Promise<void> {
  const end = tokens.length - 1;
  let size = leastTokens;
  for (let at = 0; at < end; ) {
    signal.throwIfAborted();
    const piece = tokens.slice(at, Math.min(at + size, end));
    const startedAt = performance.now();
    await sequence.evaluateWithoutGeneratingNewTokens(piece);
    at += piece.length;
    const isFast = performance.now() - startedAt < pieceMs;
    size = isFast ? Math.min(mostTokens, 2 * size) : Math.max(leastTokens, size / 2);
  }
  signal.throwIfAborted();
}
