import { extname } from 'node:path';
import { type FileObject, ServiceError } from '@sluice/contract';
import type { Files } from '@sluice/files';
import type { FileReference } from '@sluice/response-store';
import type { Reserve } from './stored-items.ts';

/** Most bytes of a file in an input: as many as the base64 of `file_data` may have. */
const mostBytes = 25_165_824;

/** Most parts of an input that name files: each is looked up and read while its caller waits. */
const mostReferences = 128;

export interface InputFilesOptions {
  files: Pick<Files, 'get' | 'readWith'> | undefined;
  /** Most bytes of all files of a request, as base64. */
  mostBytes: () => number;
}

/** Puts the content of a tenant's files in the place of the parts of an input that name them. */
export class InputFiles {
  readonly #options: InputFilesOptions;

  constructor(options: InputFilesOptions) {
    this.#options = options;
  }

  /**
   * The JSON of each part with its content, in their order. `reserve` holds memory for it.
   *
   * @throws {ServiceError} that names the part: for a file that the tenant does not have, or that is no input, or too large.
   */
  async partsOf(
    tenant: string,
    references: readonly FileReference[],
    reserve: Reserve,
  ): Promise<Uint8Array[]> {
    const { files } = this.#options;
    const [first] = references;
    if (!files)
      throw new ServiceError('unsupported_parameter', 'Files are switched off here.', {
        param: first?.param ?? null,
      });
    const tooMuch = references[mostReferences];
    if (tooMuch) throw refused(tooMuch, `An input may name at most ${mostReferences} files.`);
    let left = this.#options.mostBytes();
    const sizes: number[] = [];
    const found = new Map<string, FileObject>();
    for (const reference of references) {
      const { fileId } = reference;
      const file = found.get(fileId) ?? (await fileOf(tenant, reference, files));
      found.set(fileId, file);
      const { bytes, purpose } = file;
      if (purpose !== 'user_data')
        throw refused(reference, `The purpose of the file is ${purpose}, and must be user_data.`);
      const size = base64Length(bytes);
      left -= size;
      if (bytes > mostBytes || left < 0)
        throw new ServiceError('request_too_large', 'The files are too large for an input.', {
          param: reference.param,
        });
      sizes.push(size);
    }
    reserve(sizes.reduce((sum, size) => sum + size, 0));
    const parts: Uint8Array[] = [];
    for (const reference of references) parts.push(await this.#part(tenant, reference, files));
    return parts;
  }

  async #part(tenant: string, reference: FileReference, files: Pick<Files, 'readWith'>): Promise<Uint8Array> {
    const read = async (file: FileObject, content: AsyncIterable<Buffer>) => ({
      name: reference.filename ?? file.filename,
      ...(await base64Of(content)),
    });
    const { name, pieces, beginning } = await files
      .readWith(tenant, reference.fileId, read)
      .catch((error: unknown) => {
        throw isAbsent(error) ? refused(reference, 'The file has just been deleted.') : error;
      });
    const type = typeOf(beginning, name);
    if (reference.kind === 'input_image' && !type.startsWith('image/'))
      throw new ServiceError('invalid_image_format', 'The file is not a PNG, JPEG, GIF or WebP image.', {
        param: reference.param,
      });
    const member = reference.kind === 'input_image' ? 'image_url' : 'file_data';
    const rest = {
      type: reference.kind,
      ...(reference.kind === 'input_file' && { filename: name }),
      ...(reference.detail !== undefined && { detail: reference.detail }),
    };
    const head = `${JSON.stringify(rest).slice(0, -1)},"${member}":"data:${type};base64,`;
    return Buffer.concat([Buffer.from(head), ...pieces, Buffer.from('"}')]);
  }
}

async function fileOf(
  tenant: string,
  reference: FileReference,
  files: Pick<Files, 'get'>,
): Promise<FileObject> {
  try {
    return await files.get(tenant, reference.fileId);
  } catch (error) {
    throw isAbsent(error)
      ? refused(reference, `There is no file '${reference.fileId.slice(0, 100)}'.`)
      : error;
  }
}

function refused({ param }: FileReference, message: string): ServiceError {
  return new ServiceError('invalid_value', message, { param });
}

function isAbsent(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'not_found';
}

const base64Length = (bytes: number): number => Math.ceil(bytes / 3) * 4;

/** A content as base64, piece by piece, so that no turn takes long; and its first bytes. */
async function base64Of(content: AsyncIterable<Buffer>): Promise<{ pieces: Buffer[]; beginning: Buffer }> {
  const pieces: Buffer[] = [];
  let beginning: Buffer | undefined;
  let left = Buffer.alloc(0);
  for await (const chunk of content) {
    beginning ??= Buffer.from(chunk.subarray(0, 16));
    const bytes = left.length === 0 ? chunk : Buffer.concat([left, chunk]);
    // Three bytes are four characters.
    const whole = bytes.length - (bytes.length % 3);
    pieces.push(Buffer.from(bytes.toString('base64', 0, whole), 'latin1'));
    left = Buffer.from(bytes.subarray(whole));
  }
  pieces.push(Buffer.from(left.toString('base64'), 'latin1'));
  return { pieces, beginning: beginning ?? left };
}

/** The type of a content: by its first bytes where they say, else by the name. */
function typeOf(beginning: Buffer, name: string): string {
  const text = beginning.toString('latin1');
  const found = signatures.find(([signature]) => signature.test(text))?.[1];
  return found ?? typesByEnding.get(extname(name).toLowerCase()) ?? 'application/octet-stream';
}

const signatures: readonly [RegExp, string][] = [
  [/^\x89PNG\r\n\x1a\n/, 'image/png'],
  [/^\xff\xd8\xff/, 'image/jpeg'],
  [/^GIF8[79]a/, 'image/gif'],
  [/^RIFF.{4}WEBP/s, 'image/webp'],
  [/^%PDF-/, 'application/pdf'],
];

const typesByEnding: ReadonlyMap<string, string> = new Map([
  ['.txt', 'text/plain'],
  ['.md', 'text/markdown'],
  ['.csv', 'text/csv'],
  ['.html', 'text/html'],
  ['.json', 'application/json'],
  ['.xml', 'application/xml'],
  ['.docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
  ['.xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
  ['.pptx', 'application/vnd.openxmlformats-officedocument.presentationml.presentation'],
]);
