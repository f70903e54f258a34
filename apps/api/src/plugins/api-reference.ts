import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { type OpenApiDocument, openApiDocument } from '../openapi/openapi-document.ts';

/** Where the document of the API is, and the page that shows it. Neither needs a key, and neither says anything of a tenant. */
export const referencePaths = { document: '/openapi.json', page: '/docs' } as const;

/** The page has colours for a dark theme, and leaves it to a script to ask for them. */
const followTheme = `const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();
`;

/**
 * Serves the OpenAPI document, and a page to read and try it. The page loads nothing from another host, and sends its requests
 * to this one.
 *
 * The document is made for the first request: it takes a tenth of the time of a start, and most processes are never asked for it.
 */
export function registerApiReference(app: FastifyInstance): void {
  // The page's plugin takes a document when it is registered, and shows what is in it at a request.
  const document: Partial<OpenApiDocument> = {};
  let made: string | undefined;
  const text = () =>
    (made ??= JSON.stringify(Object.assign(document, openApiDocument({ withAdmin: false }))));
  app.get(referencePaths.document, (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(text()),
  );
  // Its type of a document leaves out what is newer than 3.0.
  void app.register(swagger, { mode: 'static', specification: { document: document as never } });
  void app.register(swaggerUi, {
    routePrefix: referencePaths.page,
    staticCSP: true,
    uiHooks: {
      onRequest: (_request, _reply, next) => {
        text();
        next();
      },
    },
    theme: { title: 'Sluice: the API', js: [{ filename: 'follow-theme.js', content: followTheme }] },
    uiConfig: {
      url: referencePaths.document,
      validatorUrl: null,
      docExpansion: 'list',
      // Without the bar that asks for the address of another document.
      layout: 'BaseLayout',
      tryItOutEnabled: true,
      filter: true,
    },
  });
}
