import { existsSync } from 'node:fs';
import { join } from 'node:path';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sendPlain } from '../plain-answers.ts';
import { sendNotBuilt } from './console-not-built.ts';

/** The console under `path`, as its build left it in `folder`. */
export async function registerBuild(app: FastifyInstance, path: string, folder: string): Promise<void> {
  await app.register(fastifyStatic, {
    serve: false,
    root: folder,
    preCompressed: true,
    cacheControl: false,
    dotfiles: 'deny',
    suppressWarning: true,
  });
  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('content-security-policy', policy);
    done();
  });
  app.get(path, (_request, reply) => sendDocument(reply, folder));
  app.get<{ Params: { '*': string } }>(`${path}/*`, (request, reply) => {
    const file = request.params['*'];
    const caching = cachingOf(file);
    if (caching !== undefined) {
      return existsSync(join(folder, file)) ? sendFile(reply, file, caching) : sendPlain(reply, 404);
    }
    return isNavigation(request) ? sendDocument(reply, folder) : sendPlain(reply, 404);
  });
}

/** The files of the build that are not named after their content. */
const besideDocument = new Set(['color-scheme.js', 'icon.svg']);

/** A file of the build, named after its content; nothing that leads elsewhere. */
const asset = /^assets\/[\w-][\w.-]*$/;

/** How a browser may keep a file of the build; undefined for a path that is none. */
function cachingOf(path: string): string | undefined {
  if (asset.test(path)) return 'public, max-age=31536000, immutable';
  return besideDocument.has(path) ? 'no-cache' : undefined;
}

/** Whether a browser opens a page, or somebody asks as one would: `curl -H 'accept: text/html'`. */
function isNavigation({ headers }: FastifyRequest): boolean {
  const mode = headers['sec-fetch-mode'];
  return mode === undefined ? /\btext\/html\b/.test(headers.accept ?? '') : mode === 'navigate';
}

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
  if (!existsSync(join(folder, 'index.html'))) return sendNotBuilt(reply, folder);
  return sendFile(reply, 'index.html', 'no-store');
}

function sendFile(reply: FastifyReply, path: string, caching: string): FastifyReply {
  return reply.headers({ 'cache-control': caching, vary: 'accept-encoding' }).sendFile(path);
}
