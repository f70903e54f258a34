import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import type fastifySwagger from '@fastify/swagger';
import type { SwaggerOptions } from '@fastify/swagger';
import type fastifySwaggerUi from '@fastify/swagger-ui';
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

/**
 * A server that listens nowhere and has the page that shows the document of the API, with all that the page loads. Rejects when one of their files
 * cannot be read, as without a descriptor, and can be asked for again.
 */
export async function referencePage(options: ReferencePageOptions): Promise<FastifyInstance> {
  const { document, documentPath, pagePath } = options;
  const app = fastify();
  // An `import` that failed fails again ever after.
  const requireInstalled = createRequire(import.meta.url);
  const swagger = requireInstalled('@fastify/swagger') as typeof fastifySwagger;
  const swaggerUi = requireInstalled('@fastify/swagger-ui') as typeof fastifySwaggerUi;
  // It reads more of itself while it is registered. What it throws there would end the process, and is an error of one that is async.
  const asyncSwagger = Object.assign(
    async (page: FastifyInstance, given: SwaggerOptions) => promisify(swagger)(page, given),
    swagger,
  );
  // Its type of a document leaves out what is newer than 3.0.
  await app.register(asyncSwagger, { mode: 'static', specification: { document: document as never } });
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
