/**
 * The pieces of a text that ends before the first of these sequences, which may span pieces.
 *
 * A piece is held back for as long as it may belong to a sequence, and no longer. The cost is linear in the text, however long
 * the sequences are. `onStop` is told the sequence, when one comes.
 */
export function* untilStop(
  pieces: Iterable<string>,
  sequences: readonly string[] = [],
  onStop?: (sequence: string) => void,
): Generator<string, void, undefined> {
  const searches = sequences.filter((sequence) => sequence !== '').map((sequence) => new Search(sequence));
  const held: string[] = [];
  let heldLength = 0;
  for (const piece of pieces) {
    const before = heldLength;
    held.push(piece);
    heldLength += piece.length;
    for (let at = 0; at < piece.length; at += 1) {
      const code = piece.charCodeAt(at);
      // The longest one that ends here begins first.
      const ending = searches.map((search) => search.take(code) ?? '');
      const found = ending.reduce((one, other) => (other.length > one.length ? other : one), '');
      if (found !== '') {
        onStop?.(found);
        return yield* beginningOf(held, before + at + 1 - found.length);
      }
    }
    const most = Math.max(0, ...searches.map(({ matched }) => matched));
    for (let [first] = held; first !== undefined && heldLength - first.length >= most; [first] = held) {
      held.shift();
      heldLength -= first.length;
      yield first;
    }
  }
  yield* held;
}

/** The first characters of pieces. */
function* beginningOf(pieces: readonly string[], length: number): Generator<string, void, undefined> {
  let left = length;
  for (const piece of pieces) {
    if (left <= 0) return;
    yield piece.slice(0, left);
    left -= piece.length;
  }
}

/** Looks for a sequence in characters that come one after the other (Knuth, Morris and Pratt). */
class Search {
  readonly #sequence: string;
  /** For each beginning of the sequence, by its last position: how much of the sequence it ends with besides itself. */
  readonly #borders: number[] = [];
  /** How many of the last characters are a beginning of the sequence. */
  matched = 0;

  constructor(sequence: string) {
    this.#sequence = sequence;
    for (let at = 1, length = 0; at < sequence.length; at += 1) {
      length = this.#next(length, sequence.charCodeAt(at));
      this.#borders[at] = length;
    }
  }

  /** Takes the next character. Returns the sequence if it ends here. */
  take(code: number): string | undefined {
    this.matched = this.#next(this.matched, code);
    if (this.matched < this.#sequence.length) return undefined;
    this.matched = this.#borders[this.matched - 1] ?? 0;
    return this.#sequence;
  }

  #next(matched: number, code: number): number {
    let length = matched;
    while (length > 0 && this.#sequence.charCodeAt(length) !== code) length = this.#borders[length - 1] ?? 0;
    return this.#sequence.charCodeAt(length) === code ? length + 1 : 0;
  }
}
