/** Most bytes of a piece. */
const pieceBytes = 64 * 1024;

/** The most bytes that one escape becomes: a surrogate keeps its escape. */
const longestEscape = 6;

const backslash = 0x5c;
const lowerU = 0x75;

/** The characters that letters behind a backslash stand for. Of other characters each stands for itself. */
const escaped: ReadonlyMap<number, number> = new Map(
  Object.entries({ b: 8, f: 12, n: 10, r: 13, t: 9 }).map(([letter, byte]) => [letter.charCodeAt(0), byte]),
);

/**
 * The content of a JSON text, given as the bytes between its quotes, in pieces that are made when they are wanted.
 *
 * Surrogates that were written as escapes stay so: UTF-8 has no bytes for half of a pair, and in a text that is JSON itself the escape means
 * the same.
 */
export function* unescaped(text: Buffer): Generator<Buffer> {
  let piece = Buffer.allocUnsafe(pieceBytes);
  let length = 0;
  for (let at = 0; at < text.length; ) {
    if (length > pieceBytes - longestEscape) {
      yield piece.subarray(0, length);
      piece = Buffer.allocUnsafe(pieceBytes);
      length = 0;
    }
    const byte = text[at] ?? 0;
    if (byte !== backslash) {
      piece[length] = byte;
      length += 1;
      at += 1;
      continue;
    }
    const behind = text[at + 1] ?? 0;
    if (behind === lowerU) {
      length += writeUnit(piece, length, text.subarray(at, at + longestEscape));
      at += longestEscape;
    } else {
      piece[length] = escaped.get(behind) ?? behind;
      length += 1;
      at += 2;
    }
  }
  if (length > 0) yield piece.subarray(0, length);
}

/** Writes what an escape with hexadecimal digits stands for, and returns how many bytes that is. */
function writeUnit(piece: Buffer, at: number, escape: Buffer): number {
  const unit = Number.parseInt(escape.toString('latin1', 2), 16);
  const isSurrogate = unit >= 0xd800 && unit <= 0xdfff;
  return isSurrogate ? escape.copy(piece, at) : piece.write(String.fromCharCode(unit), at);
}
