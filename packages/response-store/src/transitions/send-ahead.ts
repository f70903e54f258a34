import type { RedisCommands } from '../record/connection.ts';

/** How long an input that went ahead stays without its accept, in milliseconds. */
const aheadMs = 60_000;

/** Small enough that nobody's command waits behind it for long, and that its copy costs nothing. */
const pieceBytes = 512 * 1024;

/**
 * Writes a large input under its key, ahead of the accept that takes it in. It goes piece by piece: commands of others get
 * their turn in between, each piece has the time-out of a command, and only a piece of it is ever copied.
 *
 * What is left behind by a process that dies in between expires. One that got no answer must not be continued.
 */
export async function sendAhead(
  redis: Pick<RedisCommands, 'set' | 'append' | 'unlink'>,
  key: string,
  input: string | Uint8Array,
): Promise<void> {
  const bytes =
    typeof input === 'string'
      ? Buffer.from(input)
      : Buffer.from(input.buffer, input.byteOffset, input.byteLength);
  await redis.set(key, bytes.subarray(0, pieceBytes), 'PX', aheadMs);
  for (let at = pieceBytes; at < bytes.length; at += pieceBytes) {
    const piece = bytes.subarray(at, at + pieceBytes);
    const length = await redis.append(key, piece);
    if (length !== at + piece.length) {
      // It expired or was deleted, so the piece began it anew, and nothing would take that away.
      await redis.unlink(key);
      throw new Error('A large input was lost while it was sent');
    }
  }
}
