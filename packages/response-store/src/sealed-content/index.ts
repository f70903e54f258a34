export { ContentSealer, type OpaquePiece, type SealedReasoning } from './content-sealer.ts';
export { mostSealedLength, type SealingKey, sealingKeyOf } from './envelope.ts';
export { type SealingConnection, SealingKeys, type SealingKeysOptions } from './sealing-keys.ts';
