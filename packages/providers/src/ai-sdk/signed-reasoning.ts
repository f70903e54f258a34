import { includesEncryptedReasoning, type Generation, type OpaqueReasoning } from '@sluice/contract';
import { isObject, type JsonObject, parseObject } from '../json-fields.ts';

/** The origin that reasoning is tied to. A signature of one vendor is of no use to any other. */
function originOf(providerId: string): string {
  return `ai-sdk:${providerId}`;
}

/**
 * The data of one reasoning block besides its text: a signature, or thoughts that the vendor hides. The vendor wants it back
 * with the text, and otherwise refuses to continue after a tool call.
 */
export class SignedReasoning {
  readonly #origin: string | undefined;
  #metadata: JsonObject = {};

  /** It is kept where the client of the generation keeps encrypted reasoning, and nowhere else. */
  constructor(generation: Generation, providerId: string) {
    this.#origin = includesEncryptedReasoning(generation) ? originOf(providerId) : undefined;
  }

  /** Begins another block. */
  begin(): void {
    this.#metadata = {};
  }

  /** Takes the data of a part of the block. Later parts add to earlier ones, vendor by vendor. */
  add({ providerMetadata }: JsonObject): void {
    if (this.#origin === undefined || !isObject(providerMetadata)) return;
    for (const [vendor, told] of Object.entries(providerMetadata)) {
      const known = this.#metadata[vendor];
      this.#metadata[vendor] = isObject(known) && isObject(told) ? { ...known, ...told } : told;
    }
  }

  /** The data that the vendor wants back with the block; undefined if there is none. */
  end(): OpaqueReasoning | undefined {
    const data = JSON.stringify(this.#metadata);
    this.begin();
    return this.#origin === undefined || data === '{}' ? undefined : { origin: this.#origin, data };
  }
}

/** The options in which a package finds its data of a reasoning block again; undefined for reasoning of another origin. */
export function signedOptions(
  opaque: OpaqueReasoning | undefined,
  providerId: string,
): JsonObject | undefined {
  return opaque?.origin === originOf(providerId) ? parseObject(opaque.data) : undefined;
}
