import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import { fastify, type FastifyInstance } from 'fastify';
import type { OpenApiDocument } from '../openapi/openapi-document.ts';

/** The page has colours for a dark theme, and leaves it to a script to ask for them. */
const followTheme = `const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();
`;

export interface ReferencePageOptions {
  document: OpenApiDocument;
  /** Where the document is. */
  documentPath: string;
  /** Where the page is. */
  pagePath: string;
}

/** A server that listens nowhere and has the page that shows the document of the API, with all that the page loads. */
export async function referencePage(options: ReferencePageOptions): Promise<FastifyInstance> {
  const { document, documentPath, pagePath } = options;
  const app = fastify();
  // Its type of a document leaves out what is newer than 3.0.
  await app.register(swagger, { mode: 'static', specification: { document: document as never } });
  await app.register(swaggerUi, {
    routePrefix: pagePath,
    staticCSP: true,
    theme: { title: 'Sluice: the API', js: [{ filename: 'follow-theme.js', content: followTheme }] },
    uiConfig: {
      url: documentPath,
      validatorUrl: null,
      docExpansion: 'list',
      // Without the bar that asks for the address of another document.
      layout: 'BaseLayout',
      tryItOutEnabled: true,
      filter: true,
    },
  });
  return app;
}
