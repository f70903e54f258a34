import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply } from 'fastify';

export const consolePath = '/console';

/** Where the console is built to. It is as far from this file as from its built form, and in an image. */
export const consoleFolder = fileURLToPath(new URL('../../../../console/dist/', import.meta.url));

/**
 * `GET /console` and everything under it: the operator's web console, as its build left it in `folder`.
 *
 * A path under it that is no file is a page of the console, so it gets the same document. Files under `assets/` are named after their
 * content and never change; anything else is asked for each time. As long as there is no build, it answers with a page that says so
 * and comes back.
 */
export async function registerConsole(app: FastifyInstance, folder: string = consoleFolder): Promise<void> {
  await app.register(async (scope) => {
    await scope.register(fastifyStatic, {
      serve: false,
      root: folder,
      preCompressed: true,
      cacheControl: false,
      dotfiles: 'deny',
      suppressWarning: true,
    });
    scope.addHook('onRequest', (_request, reply, done) => {
      reply.header('content-security-policy', policy);
      done();
    });
    scope.get(consolePath, (_request, reply) => sendDocument(reply, folder));
    scope.get<{ Params: { '*': string } }>(`${consolePath}/*`, (request, reply) => {
      const path = request.params['*'];
      if (path.startsWith('assets/')) {
        return reply.header('cache-control', 'public, max-age=31536000, immutable').sendFile(path);
      }
      if (besideDocument.has(path)) return reply.header('cache-control', 'no-cache').sendFile(path);
      return sendDocument(reply, folder);
    });
  });
}

/** The files of the build that are not named after their content. */
const besideDocument = new Set(['color-scheme.js', 'icon.svg']);

/** Nothing from elsewhere, nothing inline. The console sets styles through the CSSOM alone, which this allows. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

function sendDocument(reply: FastifyReply, folder: string): FastifyReply {
  if (existsSync(`${folder}index.html`)) {
    return reply.header('cache-control', 'no-store').sendFile('index.html');
  }
  return reply.code(503).header('retry-after', '2').type('text/html; charset=utf-8').send(notBuilt);
}

const notBuilt = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="refresh" content="2">
<title>Sluice</title>
</head>
<body>
<h1>The console is being built</h1>
<p>This takes a few seconds after the first start, and this page comes back by itself. If it does not, run <code>npm run build</code>
and look at what it says. The queues are at <a href="/queues">/queues</a>.</p>
</body>
</html>
`;
