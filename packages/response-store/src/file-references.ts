import type { InputItem, InputPart } from '@sluice/contract';

/** A part of an input that names a file in place of content, as its JSON says. */
export interface FileReference {
  kind: 'input_file' | 'input_image';
  fileId: string;
  /** The name that the caller gives the file. */
  filename: string | undefined;
  detail: string | undefined;
  /** The member of the request that names it. */
  param: string;
  /** Where the JSON of the part stands in that of the input, in characters of the text or in bytes. */
  start: number;
  end: number;
}

/**
 * The parts of an item that name files.
 *
 * @param json the item as it was printed, at `from` in the input.
 * @param sizeOf how long a stretch of that is, in the measure of `from`.
 */
export function fileReferencesIn(
  item: InputItem,
  json: string,
  { from, index, sizeOf }: { from: number; index: number; sizeOf: (text: string) => number },
): FileReference[] {
  const { member, parts } = partsOf(item);
  const found: FileReference[] = [];
  let at = 0;
  // Each stretch is measured once: an item may have very many parts.
  let measured = from;
  for (const [position, part] of parts.entries()) {
    if (!namesFile(part)) continue;
    // A quote in a text stands behind a backslash, so nothing else of the item reads like it.
    const own = JSON.stringify(part);
    const start = json.indexOf(own, at);
    const beginning = measured + sizeOf(json.slice(at, start));
    measured = beginning + sizeOf(own);
    at = start + own.length;
    found.push({
      kind: part.type,
      fileId: part.file_id,
      filename: ('filename' in part && part.filename) || undefined,
      detail: part.detail ?? undefined,
      param: `input[${index}].${member}[${position}].file_id`,
      start: beginning,
      end: measured,
    });
  }
  return found;
}

type FilePart = Extract<InputPart, { type: FileReference['kind'] }>;

/** The parts of an item, and the member that has them. */
export function partsOf(item: InputItem): { member: string; parts: readonly InputPart[] } {
  switch (item.type) {
    case 'message':
      return { member: 'content', parts: Array.isArray(item.content) ? item.content : [] };
    case 'function_call_output':
    case 'custom_tool_call_output':
      return { member: 'output', parts: Array.isArray(item.output) ? item.output : [] };
    default:
      return { member: '', parts: [] };
  }
}

function namesFile(part: InputPart): part is FilePart & { file_id: string } {
  switch (part.type) {
    case 'input_file':
      return part.file_id != null && part.file_data == null && part.file_url == null;
    case 'input_image':
      return part.file_id != null && part.image_url == null;
    default:
      return false;
  }
}
