/**
 * What makes a request one for embeddings: a vector for each item of its input, which are messages of a text each. The answer has a message
 * for each, in their order, whose text is the vector as base64 of 32-bit floats, the least significant byte first.
 */
export interface EmbeddingRequest {
  /** `tokens`: each text is a JSON list of the numbers of tokens. */
  form: 'texts' | 'tokens';
  /** How many numbers each vector is to have; the model decides if absent. */
  dimensions?: number;
}
