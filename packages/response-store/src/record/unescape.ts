/** Most bytes of a piece. */
const pieceBytes = 64 * 1024;

/** The most bytes that one escape becomes: a surrogate keeps its escape. */
const longestEscape = 6;

const backslash = 0x5c;
const lowerU = 0x75;

/** The byte that each byte behind a backslash stands for: most for themselves. */
const escaped = Uint8Array.from({ length: 256 }, (_, byte) => byte);
for (const [letter, byte] of Object.entries({ b: 8, f: 12, n: 10, r: 13, t: 9 })) {
  escaped[letter.charCodeAt(0)] = byte;
}

/**
 * The content of a JSON text, given as the bytes between its quotes, in pieces that are made when they are wanted.
 *
 * Surrogates that were written as escapes stay so: UTF-8 has no bytes for half of a pair, and in a text that is JSON itself the escape means
 * the same.
 */
export function* unescaped(text: Buffer): Generator<Buffer> {
  for (let at = 0; at < text.length; ) {
    const piece = Buffer.allocUnsafe(pieceBytes);
    const { read, written } = fill(piece, text, at);
    at = read;
    yield piece.subarray(0, written);
  }
}

/** Fills a piece with what is written from a place of a text on. A loop in a generator takes longer. */
function fill(piece: Buffer, text: Buffer, from: number): { read: number; written: number } {
  const { length } = text;
  let written = 0;
  let at = from;
  while (at < length && written <= pieceBytes - longestEscape) {
    const byte = text[at] ?? 0;
    if (byte !== backslash) {
      piece[written] = byte;
      written += 1;
      at += 1;
      continue;
    }
    const behind = text[at + 1] ?? 0;
    if (behind === lowerU) {
      written += writeUnit(piece, written, text.subarray(at, at + longestEscape));
      at += longestEscape;
    } else {
      piece[written] = escaped[behind] ?? behind;
      written += 1;
      at += 2;
    }
  }
  return { read: at, written };
}

/** Writes what an escape with hexadecimal digits stands for, and returns how many bytes that is. */
function writeUnit(piece: Buffer, at: number, escape: Buffer): number {
  const unit = Number.parseInt(escape.toString('latin1', 2), 16);
  const isSurrogate = unit >= 0xd800 && unit <= 0xdfff;
  return isSurrogate ? escape.copy(piece, at) : piece.write(String.fromCharCode(unit), at);
}
