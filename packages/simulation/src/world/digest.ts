import { createHash } from 'node:crypto';

/** Bytes that are hashed at once: many small pieces cost much more than their bytes. */
const blockBytes = 64 * 1024;

/** A digest of everything that it was told, in order. */
export class Digest {
  readonly #hash = createHash('sha256');
  readonly #block = Buffer.alloc(blockBytes);
  #length = 0;

  add(atMs: number, text: string, bytes?: Uint8Array): void {
    this.#makeRoom(8 + 3 * text.length);
    this.#length = this.#block.writeDoubleLE(atMs, this.#length);
    if (3 * text.length > blockBytes - 8) this.#addBytes(Buffer.from(text));
    else this.#length += this.#block.write(text, this.#length);
    if (bytes) this.#addBytes(bytes);
  }

  hex(): string {
    this.#flush();
    return this.#hash.copy().digest('hex');
  }

  #addBytes(bytes: Uint8Array): void {
    this.#makeRoom(bytes.length);
    if (bytes.length > blockBytes) {
      this.#hash.update(bytes);
      return;
    }
    this.#block.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  #makeRoom(bytes: number): void {
    if (this.#length + bytes > blockBytes) this.#flush();
  }

  #flush(): void {
    this.#hash.update(this.#block.subarray(0, this.#length));
    this.#length = 0;
  }
}
