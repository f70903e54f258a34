import type { InputItem, InputPart } from '@sluice/contract';
import { partsOf } from './file-references.ts';

/** The first members of an input that name a URL which an upstream would have to fetch. */
export interface MediaUrls {
  /** The URL of an image or a video. */
  media?: string;
  file?: string;
}

/** Finds the URLs in an input; undefined if there are none. Content as a data URL is none. */
export function mediaUrlsIn(input: readonly InputItem[]): MediaUrls | undefined {
  const found: MediaUrls = {};
  for (const [index, item] of input.entries()) {
    const { member, parts } = partsOf(item);
    for (const [position, part] of parts.entries()) {
      const url = urlIn(part);
      if (url) found[url.kind] ??= `input[${index}].${member}[${position}].${url.name}`;
    }
  }
  return found.media === undefined && found.file === undefined ? undefined : found;
}

function urlIn(part: InputPart): { kind: keyof MediaUrls; name: string } | undefined {
  switch (part.type) {
    case 'input_image':
      return isFetched(part.image_url) ? { kind: 'media', name: 'image_url' } : undefined;
    case 'input_video':
      return isFetched(part.video_url) ? { kind: 'media', name: 'video_url' } : undefined;
    case 'input_file':
      return part.file_data == null && isFetched(part.file_url)
        ? { kind: 'file', name: 'file_url' }
        : undefined;
    default:
      return undefined;
  }
}

function isFetched(url: string | null | undefined): boolean {
  return url != null && !/^data:/i.test(url);
}
