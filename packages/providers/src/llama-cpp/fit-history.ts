import type { HistoryItem } from './library.ts';
import type { LlamaRequest } from './messages.ts';
import { RunError } from './run-error.ts';

/** A history, and the tokens that a model reads of it. */
export interface Prompt {
  history: HistoryItem[];
  tokens: readonly unknown[];
}

/**
 * The history that fits into `most` tokens.
 *
 * With `truncates` the oldest items are left out until the rest fits. The opening messages of the system and the last item
 * are kept. The number is found by bisection, so a long history is read as tokens a few times.
 *
 * @throws {RunError} `context_length_exceeded` when it does not fit.
 */
export function fitHistory(
  { history, truncates }: Pick<LlamaRequest, 'history' | 'truncates'>,
  most: number,
  tokenize: (history: HistoryItem[]) => readonly unknown[],
): Prompt {
  const whole = { history, tokens: tokenize(history) };
  if (whole.tokens.length <= most) return whole;
  const kept = history[0]?.type === 'system' ? 1 : 0;
  const without = (dropped: number): HistoryItem[] => [
    ...history.slice(0, kept),
    ...history.slice(kept + dropped),
  ];
  let best: Prompt | undefined;
  let low = 1;
  let high = truncates ? history.length - kept - 1 : 0;
  while (low <= high) {
    const dropped = Math.floor((low + high) / 2);
    const shorter = without(dropped);
    const tokens = tokenize(shorter);
    if (tokens.length <= most) {
      best = { history: shorter, tokens };
      high = dropped - 1;
    } else low = dropped + 1;
  }
  if (best) return best;
  throw new RunError({
    code: 'context_length_exceeded',
    disposition: 'fail',
    what: `was given ${whole.tokens.length} tokens, and has room for ${most}`,
  });
}
