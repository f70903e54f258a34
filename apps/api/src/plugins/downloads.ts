import type { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { serveCaller, type ServedRequest } from './caller.ts';
import { whenOver } from './unread-answers.ts';

/** Who reads a download, and the memory that this takes. */
export interface DownloadReader {
  /** Holds so many bytes until the reader has all, or is gone. It waits as `hold` of a caller does, and is asked once, before anything is read. */
  keep: (bytes: number) => Promise<void>;
}

export interface Download {
  headers: Record<string, string>;
  content: Readable;
}

/**
 * Sends what a reader may take hours to read. The reader counts as a caller of its tenant until it has all, or is gone.
 *
 * @throws {ServiceError} when its tenant, or everybody together, has too many requests open, or too much in memory.
 */
export async function serveDownload(
  served: ServedRequest,
  open: (reader: DownloadReader) => Promise<Download>,
): Promise<FastifyReply> {
  const { reply } = served;
  await serveCaller(served, async ({ hold, presence }) => {
    let free = () => {};
    let isOver = false;
    whenOver(reply.raw, () => {
      isOver = true;
      free();
    });
    const keep = async (bytes: number) => {
      free = await hold(bytes);
      if (isOver) free();
    };
    const { headers, content } = await open({ keep });
    void reply.headers(headers).send(content);
    await new Promise<void>((resolve) => {
      whenOver(reply.raw, resolve);
      // A stopping process waits no longer than it has time.
      presence.onEnd(() => resolve());
    });
  });
  return reply;
}
