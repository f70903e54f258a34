import { type ParsedLine, parseLine } from '@sluice/batches';
import { type ErrorCode, type HostedToolsOfModels, type LineEndpoint, ServiceError } from '@sluice/contract';
import {
  type InputPage,
  type PartJson,
  type PickedItem,
  type PickedPage,
  pickItems,
  pickPage,
  pickUserMessages,
} from '@sluice/response-store';
import { garbageCollector } from '@sluice/runtime';
import { parentPort } from 'node:worker_threads';
import type { Sealing } from './open-sealed.ts';
import { countPrompt, type PromptJson, type TokenCount } from '../tokens/count-prompt.ts';
import { type BodyForm, prepareBody, type PreparedBody } from './prepare-body.ts';
import { prepareFrame, type PreparedFrame } from './prepare-frame.ts';
import { readMessages } from './read-messages.ts';

/** A task for a thread of `JsonThreads`. Bytes are transferred, both ways. */
export type JsonTask =
  | {
      kind: 'prepare';
      body: Uint8Array<ArrayBuffer>;
      withDigest: boolean;
      form: BodyForm;
      inBackground?: boolean;
      hostedTools?: HostedToolsOfModels | undefined;
      sealing: Sealing;
    }
  | {
      kind: 'prepare_frame';
      body: Uint8Array<ArrayBuffer>;
      hostedTools?: HostedToolsOfModels | undefined;
      sealing: Sealing;
    }
  | { kind: 'read_line'; number: number; text: Uint8Array<ArrayBuffer>; endpoint: LineEndpoint }
  | { kind: 'read_messages'; body: Uint8Array<ArrayBuffer> }
  | { kind: 'pick_user_messages'; part: PartJson; without: number }
  | { kind: 'count_tokens'; prompt: PromptJson; sealing: Sealing }
  | { kind: 'pick_items'; part: PartJson; itemIds: readonly string[] }
  | { kind: 'pick_page'; part: PartJson; page: InputPage };

export interface JsonTaskResults {
  prepare: PreparedBody;
  prepare_frame: PreparedFrame;
  read_line: ParsedLine;
  read_messages: Uint8Array<ArrayBuffer>;
  pick_items: PickedItem[];
  pick_page: PickedPage | undefined;
  pick_user_messages: PickedItem[];
  count_tokens: TokenCount;
}

/** The answer of a thread. */
export type JsonResult =
  | { kind: 'done'; value: JsonTaskResults[JsonTask['kind']] }
  | { kind: 'refused'; code: ErrorCode; message: string; param: string | null }
  /** Something that is no fault of the JSON. */
  | { kind: 'failed'; error: unknown };

/** A text of more characters goes to the event loop as bytes, which cost it nothing. */
const longText = 64 * 1024;

/**
 * After JSON of more bytes the heap is collected at once, so that a thread that waits for its next task keeps none of it. For an image
 * of 10 MB that takes some milliseconds, where a thread that ends, and another one that starts, take more than reading it.
 */
const lastingBytes = 4 * 1024 * 1024;

const collectGarbage = garbageCollector();

// Does one task after the other. A thread of its own has a heap of its own, so what the JSON takes there is bounded.
parentPort?.on('message', (task: JsonTask) => void answer(task));

async function answer(task: JsonTask): Promise<void> {
  const isLong = bytesIn(task) > lastingBytes;
  const transfer: ArrayBuffer[] = [];
  let result: JsonResult;
  try {
    result = { kind: 'done', value: await valueOf(task, transfer) };
  } catch (error) {
    if (error instanceof ServiceError) {
      const { code, message, param } = error;
      result = { kind: 'refused', code, message, param };
    } else result = { kind: 'failed', error };
  }
  parentPort?.postMessage(result, transfer);
  // Not here, where the task and its result are still known.
  if (isLong) setImmediate(() => collectGarbage());
}

function bytesIn(task: JsonTask): number {
  switch (task.kind) {
    case 'prepare':
    case 'prepare_frame':
    case 'read_messages':
      return task.body.byteLength;
    case 'read_line':
      return task.text.byteLength;
    case 'pick_user_messages':
    case 'pick_items':
    case 'pick_page':
      return task.part.json.length;
    case 'count_tokens':
      return task.prompt.input.length;
  }
}

async function valueOf(task: JsonTask, transfer: ArrayBuffer[]): Promise<JsonTaskResults[JsonTask['kind']]> {
  switch (task.kind) {
    case 'prepare': {
      const { kind: _, body, ...options } = task;
      const { byteLength: inputBytes } = body;
      const prepared = prepareBody(body, { ...options, inputBytes, consume: true });
      transfer.push(bufferOf(prepared));
      return prepared;
    }
    case 'prepare_frame': {
      const { kind: _, body, ...options } = task;
      const frame = prepareFrame(body, { ...options, inputBytes: body.byteLength, consume: true });
      if (frame.kind === 'create') transfer.push(bufferOf(frame.prepared));
      return frame;
    }
    case 'read_line': {
      const { number, text, endpoint } = task;
      const parsed = parseLine({ number, text: Buffer.from(text.buffer) }, endpoint);
      if ('line' in parsed) transfer.push(parsed.line.body.buffer);
      return parsed;
    }
    case 'read_messages': {
      const lines = readMessages(task.body);
      transfer.push(lines.buffer);
      return lines;
    }
    case 'pick_items':
      return asBytes(pickItems(task.part, task.itemIds), transfer);
    case 'pick_page': {
      const page = pickPage(task.part, task.page);
      return page && { ...page, items: asBytes(page.items, transfer) };
    }
    case 'pick_user_messages':
      return asBytes(pickUserMessages(task.part, task), transfer);
    case 'count_tokens':
      return countPrompt(task.prompt, task.sealing);
  }
}

/** The bytes of an input that was prepared with `inputBytes`, which asks for bytes. */
function bufferOf({ input }: PreparedBody): ArrayBuffer {
  return (input as Uint8Array<ArrayBuffer>).buffer;
}

/** The same items, long ones as bytes that can be transferred. */
function asBytes(items: readonly PickedItem[], transfer: ArrayBuffer[]): PickedItem[] {
  return items.map((item) => {
    if (typeof item.json !== 'string' || item.json.length <= longText) return item;
    const json = Buffer.from(item.json);
    transfer.push(json.buffer);
    return { ...item, json };
  });
}
