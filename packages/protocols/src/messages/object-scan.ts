/** What may come next. In `key` and `text` the scan is inside of quotes. */
type Expected =
  | 'object'
  | 'first_key'
  | 'next_key'
  | 'key'
  | 'colon'
  | 'value'
  | 'first_element'
  | 'text'
  | 'number'
  | 'word'
  | 'after_value'
  | 'nothing'
  | 'broken';

/** Where a number may end or go on, by what was read of it. */
type NumberPart = 'minus' | 'zero' | 'digits' | 'point' | 'decimals' | 'e' | 'sign' | 'exponent';

const code = {
  quote: 34,
  plus: 43,
  comma: 44,
  minus: 45,
  point: 46,
  zero: 48,
  nine: 57,
  colon: 58,
  upperE: 69,
  openBracket: 91,
  backslash: 92,
  closeBracket: 93,
  lowerE: 101,
  lowerU: 117,
  openBrace: 123,
  closeBrace: 125,
} as const;

const words: ReadonlyMap<number, string> = new Map(
  ['true', 'false', 'null'].map((word) => [word.charCodeAt(0), word]),
);

/** The characters that may stand behind a backslash, but for `u`. */
const escapes: ReadonlySet<number> = new Set(Array.from('"\\/bfnrt', (character) => character.charCodeAt(0)));

/** A number is whole if it ends behind one of these. */
const wholeNumbers: ReadonlySet<NumberPart> = new Set(['zero', 'digits', 'decimals', 'exponent']);

/**
 * Finds out whether a text that comes in pieces is one JSON object, by the grammar of JSON and without making anything of it. Each byte is
 * looked at once. The pieces are UTF-8, and may be cut anywhere.
 */
export class ObjectScan {
  #expected: Expected = 'object';
  /** The closing bracket of each object and list that is open. */
  readonly #closers: number[] = [];
  /** Hexadecimal digits that an escape still needs; -1 right behind a backslash. */
  #escape = 0;
  #number: NumberPart = 'minus';
  #word = '';

  /** Whether the text so far is an object, and only white space may follow. */
  get isWhole(): boolean {
    return this.#expected === 'nothing';
  }

  /** Whether no text that begins like this is an object. */
  get isBroken(): boolean {
    return this.#expected === 'broken';
  }

  take(piece: Uint8Array): void {
    for (let at = 0; at < piece.length && !this.isBroken; ) {
      if (this.#expected === 'text' || this.#expected === 'key') at = this.#inText(piece, at);
      else if (this.#expected === 'number') at = this.#inNumber(piece, at);
      else {
        this.#step(piece[at] ?? 0);
        at += 1;
      }
    }
  }

  /** Skips to what ends or escapes in a text, which may be long. */
  #inText(piece: Uint8Array, from: number): number {
    let at = from;
    if (this.#escape !== 0) {
      this.#inEscape(piece[at] ?? 0);
      return at + 1;
    }
    for (; at < piece.length; at += 1) {
      const byte = piece[at] ?? 0;
      if (byte === code.quote) {
        this.#expected = this.#expected === 'key' ? 'colon' : 'after_value';
        return at + 1;
      }
      if (byte === code.backslash) {
        this.#escape = -1;
        return at + 1;
      }
      if (byte < 32) return this.#break(at);
    }
    return at;
  }

  #inEscape(byte: number): void {
    if (this.#escape > 0) {
      if (isHexadecimal(byte)) this.#escape -= 1;
      else this.#expected = 'broken';
    } else if (byte === code.lowerU) this.#escape = 4;
    else if (escapes.has(byte)) this.#escape = 0;
    else this.#expected = 'broken';
  }

  #inNumber(piece: Uint8Array, from: number): number {
    for (let at = from; at < piece.length; at += 1) {
      const next = nextOfNumber(this.#number, piece[at] ?? 0);
      if (next === undefined) {
        if (!wholeNumbers.has(this.#number)) return this.#break(at);
        this.#expected = 'after_value';
        return at;
      }
      this.#number = next;
    }
    return piece.length;
  }

  #step(byte: number): void {
    if (this.#expected === 'word') {
      if (byte !== this.#word.charCodeAt(0)) this.#expected = 'broken';
      this.#word = this.#word.slice(1);
      if (this.#word === '' && !this.isBroken) this.#expected = 'after_value';
      return;
    }
    if (isSpace(byte)) return;
    switch (this.#expected) {
      case 'object':
        this.#expected = byte === code.openBrace ? this.#open(code.closeBrace) : 'broken';
        return;
      case 'first_key':
        if (byte === code.closeBrace) return this.#close(byte);
        this.#expected = byte === code.quote ? 'key' : 'broken';
        return;
      case 'next_key':
        this.#expected = byte === code.quote ? 'key' : 'broken';
        return;
      case 'colon':
        this.#expected = byte === code.colon ? 'value' : 'broken';
        return;
      case 'first_element':
        if (byte === code.closeBracket) return this.#close(byte);
        this.#expected = this.#beginValue(byte);
        return;
      case 'value':
        this.#expected = this.#beginValue(byte);
        return;
      case 'after_value':
        if (byte !== code.comma) return this.#close(byte);
        this.#expected = this.#closers.at(-1) === code.closeBrace ? 'next_key' : 'value';
        return;
      default:
        this.#expected = 'broken';
    }
  }

  #beginValue(byte: number): Expected {
    if (byte === code.quote) return 'text';
    if (byte === code.openBrace) return this.#open(code.closeBrace);
    if (byte === code.openBracket) return this.#open(code.closeBracket);
    const word = words.get(byte);
    if (word !== undefined) {
      this.#word = word.slice(1);
      return 'word';
    }
    if (byte === code.minus) this.#number = 'minus';
    else if (isDigit(byte)) this.#number = byte === code.zero ? 'zero' : 'digits';
    else return 'broken';
    return 'number';
  }

  #open(closer: number): Expected {
    this.#closers.push(closer);
    return closer === code.closeBrace ? 'first_key' : 'first_element';
  }

  #close(byte: number): void {
    if (this.#closers.pop() !== byte) this.#expected = 'broken';
    else this.#expected = this.#closers.length === 0 ? 'nothing' : 'after_value';
  }

  #break(at: number): number {
    this.#expected = 'broken';
    return at;
  }
}

/** Whether a text is one JSON object. */
export function isObjectJson(json: string): boolean {
  const scan = new ObjectScan();
  scan.take(utf8.encode(json));
  return scan.isWhole;
}

const utf8 = new TextEncoder();

/** How a number goes on; undefined where it is over. */
function nextOfNumber(part: NumberPart, byte: number): NumberPart | undefined {
  const isE = byte === code.lowerE || byte === code.upperE;
  switch (part) {
    case 'minus':
      if (byte === code.zero) return 'zero';
      return isDigit(byte) ? 'digits' : undefined;
    case 'digits':
      if (isDigit(byte)) return 'digits';
      return behindInteger(byte, isE);
    case 'zero':
      return behindInteger(byte, isE);
    case 'point':
      return isDigit(byte) ? 'decimals' : undefined;
    case 'decimals':
      if (isE) return 'e';
      return isDigit(byte) ? 'decimals' : undefined;
    case 'e':
      if (byte === code.plus || byte === code.minus) return 'sign';
      return isDigit(byte) ? 'exponent' : undefined;
    case 'sign':
    case 'exponent':
      return isDigit(byte) ? 'exponent' : undefined;
  }
}

function behindInteger(byte: number, isE: boolean): NumberPart | undefined {
  if (byte === code.point) return 'point';
  return isE ? 'e' : undefined;
}

function isDigit(byte: number): boolean {
  return byte >= code.zero && byte <= code.nine;
}

function isHexadecimal(byte: number): boolean {
  const letter = byte | 32;
  return isDigit(byte) || (letter >= 97 && letter <= 102);
}

function isSpace(byte: number): boolean {
  return byte === 32 || byte === 10 || byte === 13 || byte === 9;
}
