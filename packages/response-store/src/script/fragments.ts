/** The Lua of `fragments/`, which several scripts build on. */
type FragmentName = 'absence' | 'ask-for-end' | 'clock' | 'let-in' | 'long-events' | 'watchers';

/** The files of these fragments, in order: a fragment may use those before it. */
export function fragments(...names: FragmentName[]): URL[] {
  return names.map((name) => new URL(`../../src/fragments/${name}.lua`, import.meta.url));
}
