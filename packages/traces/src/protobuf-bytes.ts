/** Grows to what is written to it; a batch of spans takes a few of its doublings once. */
const firstBytes = 16 * 1024;

/** Bytes that the length of a message takes when it is written before the message is known: up to 2 MiB. */
const laterLengthBytes = 3;

/** Wire types of the encoding of Protocol Buffers. */
export const wire = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

/**
 * Writes the wire format of Protocol Buffers (protobuf.dev/programming-guides/encoding), as far as spans need it, into one buffer.
 *
 * The tag of a field is its number times 8 plus its wire type; `tag` takes both together, since they are constants where it is called.
 */
export class ProtobufBytes {
  #bytes = Buffer.allocUnsafe(firstBytes);
  #at = 0;

  get written(): Buffer {
    return this.#bytes.subarray(0, this.#at);
  }

  varint(value: number): void {
    this.#reserve(10);
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes[this.#at] = (rest % 0x80) | 0x80;
      this.#at += 1;
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes[this.#at] = rest;
    this.#at += 1;
  }

  /** A field of bytes that are known: a tag, a length, and the bytes. */
  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  string(tag: number, text: string): void {
    this.#reserve(text.length * 3 + 12);
    if (!this.#ascii(tag, text)) this.#utf8(tag, text);
  }

  /** Bytes that are given in hexadecimal with small letters, fewer than 128 of them. */
  hex(tag: number, digits: string): void {
    const length = digits.length / 2;
    this.#reserve(length + 2);
    const bytes = this.#bytes;
    let at = this.#at;
    bytes[at] = tag;
    bytes[at + 1] = length;
    at += 2;
    for (let index = 0; index < digits.length; index += 2) {
      bytes[at] = (digitAt(digits, index) << 4) | digitAt(digits, index + 1);
      at += 1;
    }
    this.#at = at;
  }

  fixed32(value: number): void {
    this.#reserve(4);
    this.#at = this.#bytes.writeUInt32LE(value, this.#at);
  }

  double(value: number): void {
    this.#reserve(8);
    this.#at = this.#bytes.writeDoubleLE(value, this.#at);
  }

  /** Milliseconds since 1970, as nanoseconds. They are more than a number holds, so their halves are computed apart. */
  nanoseconds(ms: number): void {
    this.#reserve(8);
    const seconds = Math.floor(ms / 1000);
    const lower = (seconds % 0x1_0000) * 1e9 + Math.round((ms - seconds * 1000) * 1e6);
    const upper = Math.floor(seconds / 0x1_0000) * 1e9;
    const low = (upper % 0x1_0000) * 0x1_0000 + lower;
    this.#bytes.writeUInt32LE(low % 0x1_0000_0000, this.#at);
    this.#bytes.writeUInt32LE(Math.floor(upper / 0x1_0000) + Math.floor(low / 0x1_0000_0000), this.#at + 4);
    this.#at += 8;
  }

  /** Leaves room for the length of a message that comes now. Returns where it begins. */
  begin(): number {
    this.#reserve(laterLengthBytes);
    this.#at += laterLengthBytes;
    return this.#at;
  }

  /** Writes the length of the message that began there. A length may have more digits than it needs. */
  end(start: number): void {
    const length = this.#at - start;
    this.#bytes[start - 3] = (length & 0x7f) | 0x80;
    this.#bytes[start - 2] = ((length >>> 7) & 0x7f) | 0x80;
    this.#bytes[start - 1] = length >>> 14;
  }

  /** Writes a short text of ASCII, as most are: a loop is faster for those than a call into the runtime. False for any other text. */
  #ascii(tag: number, text: string): boolean {
    if (text.length >= 0x80) return false;
    const bytes = this.#bytes;
    let at = this.#at + 2;
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index);
      if (code >= 0x80) return false;
      bytes[at] = code;
      at += 1;
    }
    bytes[this.#at] = tag;
    bytes[this.#at + 1] = text.length;
    this.#at = at;
    return true;
  }

  #utf8(tag: number, text: string): void {
    this.varint(tag);
    this.varint(Buffer.byteLength(text));
    this.#at += this.#bytes.write(text, this.#at);
  }

  #reserve(bytes: number): void {
    const needed = this.#at + bytes;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2));
    larger.set(this.written);
    this.#bytes = larger;
  }
}

/** `0` to `9` and `a` to `f`: the digits of ids. */
function digitAt(digits: string, index: number): number {
  const code = digits.charCodeAt(index);
  return code < 0x3a ? code - 0x30 : code - 0x57;
}
