import { ServiceError } from '@sluice/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type OpenApiDocument, openApiDocument } from '../openapi/openapi-document.ts';
import { SlicedBody } from '../reader-pace.ts';
import { sendError } from './error-handler.ts';

/** Where the document of the API is, and the page that shows it. Neither needs a key, and neither says anything of a tenant. */
export const referencePaths = { document: '/openapi.json', page: '/docs' } as const;

/** Headers of a connection, which the page has none of. */
const headersOfConnections: ReadonlySet<string> = new Set(['connection', 'date', 'keep-alive']);

/** Paths of which no two can mean one file, so that no more is kept than there are files. */
const plainPath = /^(?:\/[\w-][\w.-]*)+\/?$/;

/** A file of the page as it is sent, which all of its readers share. */
interface PageFile {
  status: number;
  headers: Record<string, string>;
  bytes: Buffer;
}

/**
 * Serves the OpenAPI document, and a page to read and try it. The page loads nothing from another host, and sends its requests
 * to this one.
 *
 * Both are made for the first request: they take a fifth of the time of a start, and most processes are never asked for them.
 * They are kept then, since anybody may ask for them, as often as they like, and counts for no tenant.
 */
export function registerApiReference(app: FastifyInstance, makePage = makeReferencePage): void {
  let document: OpenApiDocument | undefined;
  let text: Buffer | undefined;
  let page: Promise<FastifyInstance> | undefined;
  const files = new Map<string, Promise<PageFile | undefined>>();
  const openDocument = () => (document ??= openApiDocument({ withAdmin: false }));

  async function load(path: string): Promise<PageFile | undefined> {
    page ??= makePage(openDocument());
    const opened = await page.catch((error: unknown) => {
      page = undefined; // the next visit tries again
      throw error;
    });
    const { statusCode: status, headers, rawPayload: bytes } = await opened.inject(path);
    if (status >= 500) throw new Error(`'${path}' was answered ${status} by the page of the reference`);
    if (status === 404) return undefined;
    const own = Object.entries(headers).filter(([name]) => !headersOfConnections.has(name));
    return { status, headers: Object.fromEntries(own.map(([name, value]) => [name, String(value)])), bytes };
  }

  /** Those who ask at once wait for the same. What is not there, or failed, is not kept. */
  async function fileAt(path: string): Promise<PageFile | undefined> {
    const known = files.get(path);
    if (known) return known;
    const loading = load(path);
    files.set(path, loading);
    const file = await loading.catch((error: unknown) => {
      files.delete(path);
      throw error;
    });
    if (!file) files.delete(path);
    return file;
  }

  async function showPage({ url, headers }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const [path = ''] = url.split('?');
    const file = plainPath.test(path) ? await fileAt(path) : undefined;
    if (!file) return sendError(reply, new ServiceError('not_found'));
    reply.headers(file.headers);
    if (file.headers['etag'] !== undefined && headers['if-none-match'] === file.headers['etag'])
      return reply.code(304).removeHeader('content-length').send();
    return reply.code(file.status).send(SlicedBody.of(file.bytes));
  }

  app.get(referencePaths.document, (_request, reply) =>
    reply
      .type('application/json; charset=utf-8')
      .send(SlicedBody.of((text ??= Buffer.from(JSON.stringify(openDocument()))))),
  );
  app.get(referencePaths.page, showPage);
  app.get(`${referencePaths.page}/*`, showPage);
}

async function makeReferencePage(document: OpenApiDocument): Promise<FastifyInstance> {
  const { referencePage } = await import('./reference-page.ts');
  return referencePage({
    document,
    documentPath: referencePaths.document,
    pagePath: referencePaths.page,
  });
}
