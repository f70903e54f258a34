import { parsePart } from '@sluice/contract';
import { createMessageBatchSchema, linesOfMessages } from '@sluice/protocols';
import { decodeJson, parseJson } from './parse-json.ts';

/** Makes the lines of a batch of the body that asks for messages. @throws {ServiceError} that says what is wrong with the body. */
export function readMessages(body: Uint8Array): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(
    linesOfMessages(parsePart(createMessageBatchSchema, parseJson(decodeJson(body)))),
  );
}
