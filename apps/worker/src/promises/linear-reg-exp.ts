import { RE2JS } from 're2js';

/** Most patterns whose automata are kept. */
const mostKept = 128;

const kept = new Map<string, RE2JS>();

/**
 * Stands in for `RegExp` where patterns come from clients: it matches in time linear in the text, whatever the pattern.
 *
 * It knows no look-around and no references to groups. `\s`, `\w` and `\d` mean characters of ASCII alone.
 *
 * @throws for a pattern that it does not know.
 */
export class LinearRegExp {
  readonly #automaton: RE2JS;

  constructor(pattern: string) {
    this.#automaton = kept.get(pattern) ?? RE2JS.compile(RE2JS.translateRegExp(pattern));
    if (kept.size >= mostKept) kept.clear();
    kept.set(pattern, this.#automaton);
  }

  /** Whether the pattern matches anywhere in the text. */
  test(text: string): boolean {
    return this.#automaton.test(text);
  }
}
