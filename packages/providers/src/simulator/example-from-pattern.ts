/** Longest pattern that is read, and longest text that is made. */
const maxLength = 1_000;

/** Deepest nesting of groups. */
const maxDepth = 64;

type Range = readonly [from: number, to: number];

/** Characters of a class; all others if it is negated. */
interface CharacterClass {
  ranges: Range[];
  isNegated: boolean;
}

const digit: Range[] = [[48, 57]];
const word: Range[] = [
  [97, 122],
  [48, 57],
  [65, 90],
  [95, 95],
];
const space: Range[] = [
  [32, 32],
  [9, 13],
];
const controls: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['f', '\f'],
  ['v', '\v'],
]);

/**
 * A text that a regular expression matches, made by reading the pattern and never by running it; undefined where it has
 * something that this does not know, such as look-around.
 *
 * It takes the first alternative and as few repetitions as there may be, one at least. `variant` adds to these where they
 * have no end, so that values of a list can differ. The cost is linear in the pattern and in the text.
 */
export function exampleFromPattern(pattern: string, variant: number): string | undefined {
  if (pattern.length > maxLength) return undefined;
  try {
    const reader = new PatternReader(pattern, variant);
    const text = reader.alternatives(0);
    return reader.isAtEnd ? text : undefined;
  } catch (error) {
    if (error instanceof UnknownPattern) return undefined;
    throw error;
  }
}

class UnknownPattern extends Error {}

class PatternReader {
  readonly #characters: readonly string[];
  readonly #variant: number;
  #at = 0;

  constructor(pattern: string, variant: number) {
    this.#characters = Array.from(pattern);
    this.#variant = variant;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#characters.length;
  }

  /** Takes the first of several sequences. The others are read and dropped. */
  alternatives(depth: number): string {
    if (depth > maxDepth) throw new UnknownPattern();
    const first = this.#sequence(depth);
    while (this.#take('|')) this.#sequence(depth);
    return first;
  }

  #sequence(depth: number): string {
    let text = '';
    while (!this.isAtEnd && this.#next !== '|' && this.#next !== ')') {
      const atom = this.#atom(depth);
      const times = this.#repetitions();
      if (text.length + atom.length * times > maxLength) throw new UnknownPattern();
      text += atom.repeat(times);
    }
    return text;
  }

  #atom(depth: number): string {
    const character = this.#read();
    switch (character) {
      case '^':
      case '$':
        return '';
      case '.':
        return 'a';
      case '[':
        return exampleOf(this.#class());
      case '(':
        return this.#group(depth);
      case '\\': {
        const escaped = this.#escape();
        return typeof escaped === 'string' ? escaped : exampleOf(escaped);
      }
      default:
        return character;
    }
  }

  #group(depth: number): string {
    if (this.#take('?')) {
      const isNamed = this.#take('<');
      if (isNamed) {
        if (this.#next === '=' || this.#next === '!') throw new UnknownPattern();
        while (this.#read() !== '>');
      } else if (!this.#take(':')) throw new UnknownPattern();
    }
    const text = this.alternatives(depth + 1);
    if (!this.#take(')')) throw new UnknownPattern();
    return text;
  }

  /** How often the element before is repeated. */
  #repetitions(): number {
    let times = 1;
    if (this.#take('*') || this.#take('+')) times = 1 + this.#variant;
    else if (this.#take('{')) times = this.#counted();
    else this.#take('?');
    this.#take('?');
    return times;
  }

  #counted(): number {
    let inside = '';
    for (let next = this.#read(); next !== '}'; next = this.#read()) inside += next;
    const [, least, comma, most] = /^(\d{1,4})(?:(,)(\d{0,4}))?$/.exec(inside) ?? [];
    if (least === undefined) throw new UnknownPattern();
    return Number(least) + (comma !== undefined && most === '' ? this.#variant : 0);
  }

  #class(): CharacterClass {
    const isNegated = this.#take('^');
    const ranges: Range[] = [];
    while (!this.#take(']')) {
      const from = this.#member();
      if (typeof from !== 'string') {
        if (from.isNegated) throw new UnknownPattern();
        ranges.push(...from.ranges);
      } else if (this.#next === '-' && this.#characters[this.#at + 1] !== ']') {
        this.#read();
        const to = this.#member();
        if (typeof to !== 'string') throw new UnknownPattern();
        ranges.push([codeOf(from), codeOf(to)]);
      } else ranges.push([codeOf(from), codeOf(from)]);
    }
    return { ranges, isNegated };
  }

  #member(): string | CharacterClass {
    const character = this.#read();
    return character === '\\' ? this.#escape() : character;
  }

  #escape(): string | CharacterClass {
    const character = this.#read();
    switch (character) {
      case 'd':
      case 'D':
        return { ranges: digit, isNegated: character === 'D' };
      case 'w':
      case 'W':
        return { ranges: word, isNegated: character === 'W' };
      case 's':
      case 'S':
        return { ranges: space, isNegated: character === 'S' };
      case 'x':
        return this.#hexadecimal(2);
      case 'u':
        return this.#hexadecimal(4);
      default:
        if (controls.has(character)) return controls.get(character) ?? '';
        // References, properties, boundaries of words.
        if (/[a-zA-Z0-9]/.test(character)) throw new UnknownPattern();
        return character;
    }
  }

  #hexadecimal(digits: number): string {
    const code = Array.from({ length: digits }, () => this.#read()).join('');
    if (!/^[0-9a-f]+$/i.test(code)) throw new UnknownPattern();
    return String.fromCodePoint(Number.parseInt(code, 16));
  }

  get #next(): string | undefined {
    return this.#characters[this.#at];
  }

  #read(): string {
    const character = this.#next;
    if (character === undefined) throw new UnknownPattern();
    this.#at += 1;
    return character;
  }

  #take(character: string): boolean {
    if (this.#next !== character) return false;
    this.#at += 1;
    return true;
  }
}

function codeOf(character: string): number {
  return character.codePointAt(0) ?? 0;
}

/** The first character of a class, or the first one outside of it. */
function exampleOf({ ranges, isNegated }: CharacterClass): string {
  const isIn = (code: number) => ranges.some(([from, to]) => code >= from && code <= to);
  const code = isNegated
    ? ['a', '0', '-', ' ', '_', 'Z', '!', 'é'].map(codeOf).find((each) => !isIn(each))
    : ranges[0]?.[0];
  if (code === undefined) throw new UnknownPattern();
  return String.fromCodePoint(code);
}
