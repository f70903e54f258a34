import { describe, expect, it } from 'vitest';
import { readPrompt } from './read-prompt.ts';

const tokens = Array.from({ length: 300 }, (_, index) => index);

function sequence(onPiece: (read: readonly unknown[]) => void = () => undefined) {
  const read: unknown[] = [];
  return {
    read,
    async evaluateWithoutGeneratingNewTokens(piece: readonly unknown[]) {
      read.push(...piece);
      onPiece(read);
    },
  };
}

describe('reading a prompt', () => {
  it('reads all tokens but the last, in order', async () => {
    const whole = sequence();
    await readPrompt(whole, tokens, new AbortController().signal);
    expect(whole.read).toEqual(tokens.slice(0, -1));
  });

  it('stops after the piece in which it is aborted', async () => {
    const abort = new AbortController();
    const cut = sequence(() => abort.abort(new Error('cancelled')));
    await expect(readPrompt(cut, tokens, abort.signal)).rejects.toThrowError('cancelled');
    expect(cut.read.length).toBeLessThan(tokens.length / 2);
  });

  it('reads nothing of a single token', async () => {
    const none = sequence();
    await readPrompt(none, [1], new AbortController().signal);
    expect(none.read).toEqual([]);
  });
});
