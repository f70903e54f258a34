import type { FileHandle } from 'node:fs/promises';

/** How many bytes of a line in pieces are written at once, and made in a turn of the event loop, unless one piece has more. */
const writeBytes = 64 * 1024;

/** Adds a line to a file, and says how many bytes it has there. One in pieces is made as it is written. */
export async function appendLine(handle: FileHandle, text: string | Iterable<Uint8Array>): Promise<number> {
  let bytes = 0;
  let waiting: Uint8Array[] = [];
  let waitingBytes = 0;
  const append = async (piece: Uint8Array) => {
    await handle.appendFile(piece);
    bytes += piece.length;
  };
  const flush = async () => {
    const small = Buffer.concat(waiting);
    [waiting, waitingBytes] = [[], 0];
    await append(small);
  };
  for (const piece of typeof text === 'string' ? [Buffer.from(text)] : text) {
    if (waitingBytes + piece.length >= writeBytes) await flush();
    if (piece.length >= writeBytes) await append(piece);
    else {
      waiting.push(piece);
      waitingBytes += piece.length;
    }
  }
  waiting.push(Buffer.from('\n'));
  await flush();
  return bytes;
}
