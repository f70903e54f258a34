import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

/** A page, bundled as its users bundle theirs, on a port of its own. */
export interface ChatSite {
  origin: string;
  close: () => Promise<void>;
}

const mediaTypes: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript' };

export async function startChatSite(page: 'chat-page' | 'deep-chat-page'): Promise<ChatSite> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-chat-'));
  await build({
    root: fileURLToPath(new URL(page, import.meta.url)),
    configFile: false,
    logLevel: 'error',
    resolve: { conditions: ['sluice-source', 'browser', 'module', 'import', 'default'] },
    build: { outDir: folder, emptyOutDir: true },
  });
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://page');
    const file = pathname === '/' ? '/index.html' : pathname;
    readFile(join(folder, file)).then(
      (content) => response.setHeader('content-type', mediaTypes[extname(file)] ?? 'text/plain').end(content),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((listening) => {
    server.listen(0, '127.0.0.1', listening);
  });
  const { port } = server.address() as AddressInfo; // of a TCP server, which has one
  return {
    origin: `http://127.0.0.1:${port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => {
        server.close(closed);
      });
      await rm(folder, { recursive: true, force: true });
    },
  };
}
