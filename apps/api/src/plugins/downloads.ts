import type { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { Caller } from '../responses/caller.ts';
import { serveCaller, type ServedRequest } from './caller.ts';
import { whenOver } from './unread-answers.ts';

/** Who reads a download, and the memory that this takes. */
export interface DownloadReader extends Pick<Caller, 'hold'> {
  /** Holds so many bytes until the reader has all, or is gone; waits for room as `hold` does. */
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
    const keep = async (bytes: number) => whenOver(reply.raw, await hold(bytes));
    const { headers, content } = await open({ hold, keep });
    void reply.headers(headers).send(content);
    await new Promise<void>((resolve) => {
      whenOver(reply.raw, resolve);
      // A stopping process waits no longer than it has time.
      presence.onEnd(() => resolve());
    });
  });
  return reply;
}
