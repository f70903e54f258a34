/** Masks what looks like a credential: passwords in URLs, bearer tokens, API keys of common formats. */
export function maskSecrets(text: string): string {
  // A URL is found by what follows its scheme: in `a-a-a-…` one may begin at each letter, and every one would be followed to the end.
  return text
    .replace(/:\/\/[^\s/?#@]*@/g, '://***@')
    .replace(/\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi, '$1 ***')
    .replace(/\b(sk|pk|rk|whsec|xox[a-z]|gh[a-z])[-_][\w-]{8,}/g, '$1-***');
}
