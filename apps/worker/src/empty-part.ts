import type { ContentPart } from '@sluice/contract';

/** The kinds of parts in an item of an answer. */
export type PartKind = 'output_text' | 'refusal' | 'summary_text' | 'reasoning_text';

/** A part as it begins. */
export function emptyPart(kind: Exclude<PartKind, 'summary_text'>): ContentPart {
  switch (kind) {
    case 'output_text':
      return { type: kind, text: '', annotations: [], logprobs: [] };
    case 'refusal':
      return { type: kind, refusal: '' };
    case 'reasoning_text':
      return { type: kind, text: '' };
  }
}
