/** Numbers that follow from a seed: the same seed, the same numbers. Never for secrets. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 up to and without 2^32; splitmix32. */
  word(): number {
    this.#state = (this.#state + 0x9e3779b9) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    return (mixed ^ (mixed >>> 16)) >>> 0;
  }

  /** From 0 up to and without 1. */
  fraction(): number {
    return this.word() / 2 ** 32;
  }

  /** A whole number from `least` to `most`, both included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.fraction() * (most - least + 1));
  }

  /** Whether something happens that happens so often. */
  happens(chance: number): boolean {
    return this.fraction() < chance;
  }

  pick<T>(among: readonly [T, ...T[]]): T {
    return among[this.between(0, among.length - 1)] ?? among[0];
  }

  /** Many small numbers and a few large ones, around `typical`. */
  skewed(typical: number): number {
    return typical * Math.exp(2 * (this.fraction() + this.fraction() + this.fraction() - 1.5));
  }

  fillBytes(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += 1) bytes[at] = this.word() & 0xff;
  }

  /** Numbers of their own: what is drawn from them does not change what is drawn from these. */
  fork(name: string): Random {
    let seed = this.#state;
    for (const character of name) seed = Math.imul(seed ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
    return new Random(new Random(seed).word());
  }
}
