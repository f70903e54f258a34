import { ServiceError } from '@sluice/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type OpenApiDocument, openApiDocument } from '../openapi/openapi-document.ts';
import { sendError } from './error-handler.ts';

/** Where the document of the API is, and the page that shows it. Neither needs a key, and neither says anything of a tenant. */
export const referencePaths = { document: '/openapi.json', page: '/docs' } as const;

/** Headers of a connection, which the page has none of. */
const headersOfConnections: ReadonlySet<string> = new Set(['connection', 'date', 'keep-alive']);

/**
 * Serves the OpenAPI document, and a page to read and try it. The page loads nothing from another host, and sends its requests
 * to this one.
 *
 * Both are made for the first request: they take a fifth of the time of a start, and most processes are never asked for them.
 */
export function registerApiReference(app: FastifyInstance): void {
  let document: OpenApiDocument | undefined;
  let text: string | undefined;
  let page: Promise<FastifyInstance> | undefined;
  const openDocument = () => (document ??= openApiDocument({ withAdmin: false }));

  async function openPage(): Promise<FastifyInstance> {
    const { referencePage } = await import('./reference-page.ts');
    return referencePage({
      document: openDocument(),
      documentPath: referencePaths.document,
      pagePath: referencePaths.page,
    });
  }

  async function showPage({ url, headers }: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    page ??= openPage();
    const opened = await page;
    const answer = await opened.inject({ url, headers });
    if (answer.statusCode === 404) return sendError(reply, new ServiceError('not_found'));
    for (const [name, value] of Object.entries(answer.headers))
      if (!headersOfConnections.has(name)) reply.header(name, value);
    return reply.code(answer.statusCode).send(answer.rawPayload);
  }

  app.get(referencePaths.document, (_request, reply) =>
    reply.type('application/json; charset=utf-8').send((text ??= JSON.stringify(openDocument()))),
  );
  app.get(referencePaths.page, showPage);
  app.get(`${referencePaths.page}/*`, showPage);
}
