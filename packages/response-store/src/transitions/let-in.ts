import type { LetIn } from '../record/store-access.ts';

/** Reads what the scripts say of responses that may go into their queues: id, queue and priority of each. */
export function parseLetIn(words: readonly (string | undefined)[]): LetIn[] {
  const found: LetIn[] = [];
  for (let at = 0; at + 2 < words.length; at += 3) {
    found.push({
      responseId: words[at] ?? '',
      queue: words[at + 1] ?? '',
      priority: Number(words[at + 2]),
    });
  }
  return found;
}
