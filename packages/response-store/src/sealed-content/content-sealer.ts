import { open, seal, type SealingKey } from './envelope.ts';

/** What an upstream wants to get back as it is, and which upstream that is. */
export interface OpaquePiece {
  origin: string;
  data: string;
}

/** The reasoning of a model, as it was before it was sealed. */
export interface SealedReasoning {
  /** The raw text; empty when the upstream gave none. */
  text: string;
  opaque: OpaquePiece | undefined;
}

/** Seals and opens the content of one tenant. Whatever does not open is `undefined`. */
export class ContentSealer {
  readonly #keys: readonly SealingKey[];
  readonly #tenant: string;

  constructor(keys: readonly SealingKey[], tenant: string) {
    this.#keys = keys;
    this.#tenant = tenant;
  }

  /** Undefined when it is too long to be taken back. */
  sealReasoning({ text, opaque }: SealedReasoning): string | undefined {
    return this.#seal('reasoning', { text, ...(opaque && { opaque }) });
  }

  openReasoning(sealed: string): SealedReasoning | undefined {
    const opened = this.#open('reasoning', sealed);
    if (typeof opened?.['text'] !== 'string') return undefined;
    return { text: opened['text'], opaque: opaqueOf(opened['opaque']) };
  }

  /** Seals what a conversation came to. Undefined when it is too long to be taken back. */
  sealCompaction(summary: string): string | undefined {
    return this.#seal('compaction', { summary });
  }

  openCompaction(sealed: string): string | undefined {
    const summary = this.#open('compaction', sealed)?.['summary'];
    return typeof summary === 'string' ? summary : undefined;
  }

  #seal(purpose: 'reasoning' | 'compaction', content: object): string | undefined {
    const [first] = this.#keys;
    if (!first) throw new TypeError('There is no key to seal with');
    return seal(JSON.stringify(content), first, { tenant: this.#tenant, purpose });
  }

  #open(purpose: 'reasoning' | 'compaction', sealed: string): Record<string, unknown> | undefined {
    const text = open(sealed, this.#keys, { tenant: this.#tenant, purpose });
    if (text === undefined) return undefined;
    // Authentic, so it is what `#seal` printed, of this release or of another.
    return JSON.parse(text) as Record<string, unknown>;
  }
}

function opaqueOf(value: unknown): OpaquePiece | undefined {
  if (typeof value !== 'object' || value === null || !('origin' in value) || !('data' in value))
    return undefined;
  const { origin, data } = value;
  return typeof origin === 'string' && typeof data === 'string' ? { origin, data } : undefined;
}
