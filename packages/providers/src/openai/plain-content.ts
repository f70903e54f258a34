import type { InputPart } from '@sluice/contract';

/** The texts of a content, each on a line of its own. */
export function plainText(content: string | readonly InputPart[]): string {
  if (typeof content === 'string') return content;
  return content
    .map((part) => ('text' in part ? part.text : 'refusal' in part ? part.refusal : ''))
    .filter((text) => text !== '')
    .join('\n');
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
