import type { InputPart } from '@sluice/contract';
import { type CacheMark, type ItemMarks, partMark } from '../cache-marks.ts';

/** The texts of a content, each on a line of its own. */
export function plainText(content: string | readonly InputPart[]): string {
  if (typeof content === 'string') return content;
  return content
    .map((part) => ('text' in part ? part.text : 'refusal' in part ? part.refusal : ''))
    .filter((text) => text !== '')
    .join('\n');
}

/** A text of a content that an upstream takes as a part of its own. */
export interface MarkedText {
  text: string;
  mark: CacheMark | undefined;
}

/**
 * The texts of a content, each with its mark. They stay apart also where none has a mark: the next request may have its marks elsewhere, and a
 * cache finds the same beginning alone. The mark of a text that is empty is left out with it.
 */
export function markedTexts(
  content: string | readonly InputPart[],
  marks: ItemMarks | undefined,
): MarkedText[] {
  const texts = typeof content === 'string' ? [content] : content.map((part) => plainText([part]));
  return texts
    .map((text, at) => ({ text, mark: partMark(marks, at, { of: texts.length }) }))
    .filter(({ text }) => text !== '');
}

/** The output of a tool for an upstream that takes text there and nothing else: its media come as parts beside it. */
export function splitOutput<Part>(
  output: string | readonly InputPart[],
  mediaPart: (part: InputPart) => Part,
): { text: string; media: Part[] } {
  if (typeof output === 'string') return { text: output, media: [] };
  const media = output.filter((part) => !('text' in part)).map(mediaPart);
  const text = plainText(output);
  return { text: text === '' && media.length > 0 ? 'The output is attached below.' : text, media };
}
