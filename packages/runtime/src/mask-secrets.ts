/** Masks what looks like a credential: passwords in URLs, bearer tokens, API keys of common formats. */
export function maskSecrets(text: string): string {
  return text
    .replace(/(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/?#@]*@/gi, '$1***@')
    .replace(/\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi, '$1 ***')
    .replace(/\b(sk|pk|rk|whsec|xox[a-z]|gh[a-z])[-_][\w-]{8,}/g, '$1-***');
}
