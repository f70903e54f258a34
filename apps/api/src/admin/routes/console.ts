import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sendPlain } from '../plain-answers.ts';
import { sendNotBuilt } from './console-not-built.ts';

export const consolePath = '/console';

/** Where the console is built to. It is as far from this file as from its built form, and in an image. */
const consoleFolder = fileURLToPath(new URL('../../../../console/dist/', import.meta.url));

/**
 * `GET /console` and everything under it: the operator's web console, as its build left it in `folder`.
 *
 * A navigation to a path that is no file gets the document, because it is a page of the console; anything else that is not there is
 * not found. Files under `assets/` are named after their content and never change; the document is asked for each time. As long as there is no
 * build, `console-not-built.ts` answers in its place.
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
      const caching = cachingOf(path);
      if (caching !== undefined) {
        return existsSync(join(folder, path)) ? sendFile(reply, path, caching) : sendPlain(reply, 404);
      }
      return isNavigation(request) ? sendDocument(reply, folder) : sendPlain(reply, 404);
    });
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
