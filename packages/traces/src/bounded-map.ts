/** A map that drops its oldest entries once it holds too many. */
export class BoundedMap<Key, Value> {
  readonly #values = new Map<Key, Value>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#values.size;
  }

  get(key: Key): Value | undefined {
    return this.#values.get(key);
  }

  set(key: Key, value: Value): void {
    this.#values.set(key, value);
    if (this.#values.size <= this.#most) return;
    const [oldest] = this.#values.keys();
    if (oldest !== undefined) this.#values.delete(oldest);
  }

  delete(key: Key): void {
    this.#values.delete(key);
  }

  /** Removes a value and returns it. */
  take(key: Key): Value | undefined {
    const value = this.#values.get(key);
    this.#values.delete(key);
    return value;
  }
}
