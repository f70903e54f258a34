import { Readable } from 'node:stream';
import { Busboy } from '@fastify/busboy';
import { ServiceError } from '@sluice/contract';
import type { FastifyRequest } from 'fastify';

/** A form with one file, of which `receive` has made something. */
export interface Form<Received> {
  /** The other parts, by name. */
  fields: Record<string, string>;
  file: { name: string; received: Received };
}

/** A form has a handful of short parts beside its file. */
const limits = { fieldNameSize: 100, fieldSize: 1_024, fields: 8, files: 1, parts: 10, headerPairs: 32 };

/**
 * Reads a form with one file, in the part `file`, whose bytes go to `receive` as they arrive, whatever comes before or behind it. What was
 * received is given to `drop` when the form turns out to be wrong.
 *
 * @throws {ServiceError} that says what is wrong with the form, or what `receive` has thrown. The rest of the request flows on unread.
 */
export async function readForm<Received>(
  request: FastifyRequest,
  receive: (content: Readable) => Promise<Received>,
  drop: (received: Received) => Promise<void>,
): Promise<Form<Received>> {
  const payload = request.body;
  if (!(payload instanceof Readable)) throw new ServiceError('unsupported_media_type', formWanted);
  const fields: Record<string, string> = {};
  let file: { name: string; received: Promise<Received> } | undefined;
  try {
    await parse(payload, request, {
      onField: (name, value) => (fields[name] = value),
      onFile: (name, content) => {
        file = { name, received: receive(content) };
        return file.received;
      },
    });
    if (!file) throw new ServiceError('missing_required_parameter', { param: 'file' });
    return { fields, file: { name: file.name, received: await file.received } };
  } catch (error) {
    request.isBodyRefused = true;
    payload.resume();
    const received = await file?.received.catch(() => undefined);
    if (received !== undefined) await drop(received);
    throw error;
  }
}

const formWanted = 'The body must be multipart/form-data.';

interface PartListeners {
  onField: (name: string, value: string) => void;
  onFile: (name: string, content: Readable) => Promise<unknown>;
}

/** Resolves when every part was read. */
function parse(
  payload: Readable,
  request: FastifyRequest,
  { onField, onFile }: PartListeners,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let open: Readable | undefined;
  const fail = (error: unknown) => {
    payload.unpipe();
    const reason = error instanceof Error ? error : new Error(String(error));
    // The receiver of the file would wait for the rest of it for ever.
    open?.destroy(reason);
    reject(reason);
  };
  const wrong = (message: string, param: string | null = null) =>
    fail(new ServiceError('invalid_value', message, { param }));
  const form = openForm(request);
  let isFileRead: Promise<unknown> = Promise.resolve();
  form.on('file', (part, content, name) => {
    if (part !== 'file') {
      content.resume();
      return wrong(`The form has an unknown file '${part.slice(0, 100)}'.`, part.slice(0, 100));
    }
    open = content;
    content.on('error', () => undefined); // whoever receives it says so
    isFileRead = onFile(name ?? '', content);
    isFileRead.catch(fail);
  });
  form.on('field', (name, value, isNameCut, isValueCut) => {
    if (isNameCut || isValueCut) wrong(`'${name}' is too long.`, name);
    else onField(name, value);
  });
  form.on('filesLimit', () => wrong('The form has more than one file.', 'file'));
  form.on('fieldsLimit', () => wrong('The form has too many parts.'));
  form.on('partsLimit', () => wrong('The form has too many parts.'));
  form.on('error', (error) =>
    fail(new ServiceError('invalid_value', 'The form is not whole.', { cause: error })),
  );
  form.on('finish', () => void isFileRead.then(() => resolve(), fail));
  payload.on('error', fail);
  payload.on('close', () => {
    if (!payload.readableEnded) fail(new Error('aborted'));
  });
  payload.pipe(form);
  return promise;
}

function openForm({ headers }: FastifyRequest): InstanceType<typeof Busboy> {
  try {
    return new Busboy({
      headers: { ...headers, 'content-type': headers['content-type'] ?? '' },
      limits,
    });
  } catch (error) {
    throw new ServiceError('invalid_value', 'The form has no boundary.', { cause: error, param: null });
  }
}
