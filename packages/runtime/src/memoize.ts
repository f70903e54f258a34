/** Keeps the results of a function, one for each list of words and numbers; a word that is absent is taken for an empty one. Meant for few lists. */
export function memoize<Words extends readonly (string | number | undefined)[], Result>(
  make: (...words: Words) => Result,
): (...words: Words) => Result {
  const made = new Map<string, Result>();
  return (...words) => {
    const key = words.join('\n');
    const known = made.get(key);
    if (known !== undefined) return known;
    const result = make(...words);
    made.set(key, result);
    return result;
  };
}
