import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { serveOnFirstVisit } from '../on-first-visit.ts';

export const consolePath = '/console';

/** Where the console is built to. It is as far from this file as from its built form, and in an image. */
const consoleFolder = fileURLToPath(new URL('../../../../console/dist/', import.meta.url));

/**
 * `GET /console` and everything under it: the operator's web console, as its build left it in `folder`; see `console-build.ts`.
 *
 * A navigation to a path that is no file gets the document, because it is a page of the console; anything else that is not there is
 * not found. Files under `assets/` are named after their content and never change; the document is asked for each time. As long as there is no
 * build, `console-not-built.ts` answers in its place.
 */
export function registerConsole(app: FastifyInstance, folder: string = consoleFolder): void {
  serveOnFirstVisit(app, consolePath, async (part) => {
    const { registerBuild } = await import('./console-build.ts');
    await registerBuild(part, consolePath, folder);
  });
}
