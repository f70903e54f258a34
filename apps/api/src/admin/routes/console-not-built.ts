import { createHash } from 'node:crypto';
import { type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyReply } from 'fastify';

/** The file that says that a build is under way; `apps/console/build/build-lock.ts` makes and removes it. */
const lockName = '.building';

/** A lock that is older than this, in milliseconds, belongs to nobody: a build takes seconds. */
const staleAfterMs = 120_000;

/**
 * Answers 503 in place of a console that is not built: with a page that says whether that is under way, or else how to do it. The page has
 * no script and comes back by itself.
 */
export function sendNotBuilt(reply: FastifyReply, folder: string): FastifyReply {
  const page = isBuilding(folder) ? underWay : howTo;
  return reply
    .code(503)
    .headers({ 'content-security-policy': policy, 'retry-after': '2' })
    .type('text/html; charset=utf-8')
    .send(page);
}

function isBuilding(folder: string): boolean {
  const lock: Stats | undefined = statSync(join(folder, lockName), { throwIfNoEntry: false });
  return lock !== undefined && Date.now() - lock.mtimeMs < staleAfterMs;
}

const style = `
:root { color-scheme: light dark; font: 16px/1.6 ui-sans-serif, system-ui, sans-serif; }
body { max-width: 34rem; margin: 20vh auto 0; padding: 0 1.5rem; }
h1 { font-size: 1.35rem; }
code { padding: 0.15em 0.4em; border-radius: 6px; background: color-mix(in srgb, currentcolor 10%, transparent); }
`;

/** No script at all, and no style but the one above. */
const policy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

function pageOf(title: string, refreshSeconds: number, text: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="${refreshSeconds}">
<title>Sluice</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>${title}</h1>
<p>${text}</p>
<p>The raw jobs are at <a href="/queues">/queues</a> meanwhile.</p>
</main>
</body>
</html>
`;
}

const underWay = pageOf(
  'The console is being built',
  1,
  'This takes some seconds, the first time and after a change of its sources. The page comes back by itself.',
);

const howTo = pageOf(
  'The console is not built',
  3,
  'Run <code>npm run build --workspace apps/console</code> where Sluice is installed, and see what it says. It needs the dependencies of development, which <code>npm ci</code> installs. The page comes back by itself.',
);
