/** The encodings of OpenAI's models: the names that `tiktoken` gives them. */
export type Encoding = 'o200k_base' | 'cl100k_base';

/** Most characters of all texts of a prompt: four to five times the largest context there is. */
const mostCharacters = 4 * 1024 * 1024;

/** How long the texts of a prompt may take together, in milliseconds. Prose of `mostCharacters` takes about one second. */
const defaultMostMs = 2_000;

/**
 * A run of letters, of spaces or of other characters is cut after so many. The tokenizer needs the square of the length of a run,
 * seconds for some ten thousand characters; a cut in a run that no language has costs one token more at most.
 */
const longestRun = 128;

/** So much is counted between two looks at the clock, in characters. The worst text takes some tenths of a second for it. */
const slice = 16 * 1024;

const runs = /[\p{L}\p{M}]+|\s+|[^\p{L}\p{M}\s]+/gu;

/** The texts are more than may be counted. */
export class TooCostly extends Error {}

/** Nothing is special in the text of a client. */
const asText = { disallowedSpecial: new Set<string>() };

export class Tokenizer {
  readonly #count: (text: string) => number;
  readonly #mostMs: number;

  constructor(count: (text: string) => number, { mostMs = defaultMostMs }: { mostMs?: number } = {}) {
    this.#count = count;
    this.#mostMs = mostMs;
  }

  /**
   * A function that counts the tokens of each text of a prompt.
   *
   * @throws {TooCostly} from that function, once the texts are too long or take too long together.
   */
  budgeted(): (text: string) => number {
    const until = performance.now() + this.#mostMs;
    let characters = 0;
    return (text) => {
      characters += text.length;
      if (characters > mostCharacters) throw new TooCostly();
      let tokens = 0;
      for (const piece of piecesOf(text)) {
        if (performance.now() > until) throw new TooCostly();
        tokens += this.#count(piece);
      }
      return tokens;
    };
  }
}

/** Loads an encoding, which takes a quarter of a second and some thirty megabytes the first time. */
export async function loadTokenizer(encoding: Encoding): Promise<Tokenizer> {
  const { countTokens } = await load(encoding);
  return new Tokenizer((text) => countTokens(text, asText));
}

function load(encoding: Encoding) {
  switch (encoding) {
    case 'o200k_base':
      return import('gpt-tokenizer/encoding/o200k_base');
    case 'cl100k_base':
      return import('gpt-tokenizer/encoding/cl100k_base');
  }
}

/** The text in pieces that can be counted apart: cut where a run begins, and in runs that are too long. */
function* piecesOf(text: string): Generator<string> {
  let from = 0;
  for (const { 0: run, index } of text.matchAll(runs)) {
    if (run.length <= longestRun && index - from < slice) continue;
    if (index > from) yield text.slice(from, index);
    from = index;
    if (run.length <= longestRun) continue;
    const end = index + run.length;
    while (from < end) {
      let to = Math.min(from + longestRun, end);
      if (to < end && isHighSurrogate(text.charCodeAt(to - 1))) to -= 1;
      yield text.slice(from, to);
      from = to;
    }
  }
  if (from < text.length) yield text.slice(from);
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd8_00 && code <= 0xdb_ff;
}
