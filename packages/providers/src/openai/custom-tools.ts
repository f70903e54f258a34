import type { CustomTool, FunctionTool, Tool } from '@sluice/contract';
import { parseObject } from '../json-fields.ts';
import type { ProviderChunk } from '../provider.ts';
import type { UpstreamEvent } from '../upstream/event-stream.ts';
import type { EventReader } from '../upstream/upstream-provider.ts';

/** A custom tool for an upstream that has functions alone: its input is the one argument. */
export function customAsFunction({ name, description, format }: CustomTool): FunctionTool {
  const rules =
    format?.type === 'grammar'
      ? [`The input must match this ${format.syntax} grammar:\n${format.definition}`]
      : [];
  return {
    type: 'function',
    name,
    description: [description ?? 'Takes any text as its input.', ...rules].join('\n\n'),
    parameters: {
      type: 'object',
      properties: { input: { type: 'string', description: 'The whole input of the tool, as plain text.' } },
      required: ['input'],
      additionalProperties: false,
    },
  };
}

/**
 * Turns calls of functions that stand for custom tools back into calls of these tools.
 *
 * Arguments come in pieces of JSON, so the input of a call is known only at the end of the answer, and is sent in one piece.
 * If the input was cut off, its readable part is sent.
 */
export class CustomCalls {
  readonly #names: ReadonlySet<string>;
  /** The arguments so far of each call of a custom tool. */
  readonly #arguments = new Map<string, string>();

  constructor(tools: readonly Tool[] = []) {
    this.#names = new Set(tools.filter(({ type }) => type === 'custom').map(({ name }) => name));
  }

  /** Turns a chunk of the answer into the chunks that are passed on. */
  turn(chunk: ProviderChunk): ProviderChunk[] {
    if (chunk.type === 'function_call' && this.#names.has(chunk.name)) {
      this.#arguments.set(chunk.callKey, '');
      return [{ ...chunk, type: 'custom_tool_call' }];
    }
    if (chunk.type !== 'function_arguments') return [chunk];
    const before = this.#arguments.get(chunk.callKey);
    if (before === undefined) return [chunk];
    this.#arguments.set(chunk.callKey, before + chunk.delta);
    return [];
  }

  /** The inputs of the calls so far, once. They belong behind the answer, and before its usage. */
  takeInputs(): ProviderChunk[] {
    const inputs = [...this.#arguments].map(
      ([callKey, json]): ProviderChunk => ({
        type: 'custom_tool_input',
        callKey,
        delta: inputIn(json),
      }),
    );
    this.#arguments.clear();
    return inputs;
  }
}

/** A reader whose calls of functions that stand for custom tools are calls of those tools. */
export function withCustomInputs<Event>(
  reader: EventReader<Event>,
  tools: readonly Tool[] = [],
): EventReader<Event> {
  return tools.some(({ type }) => type === 'custom') ? new CustomInputs(reader, tools) : reader;
}

class CustomInputs<Event = UpstreamEvent> implements EventReader<Event> {
  readonly #reader: EventReader<Event>;
  readonly #calls: CustomCalls;

  constructor(reader: EventReader<Event>, tools: readonly Tool[]) {
    this.#reader = reader;
    this.#calls = new CustomCalls(tools);
  }

  get state(): EventReader['state'] {
    return this.#reader.state;
  }

  read(event: Event): ProviderChunk[] {
    return this.#reader.read(event).flatMap((chunk) => this.#calls.turn(chunk));
  }

  end(): ProviderChunk[] {
    const last = this.#reader.end();
    return [...this.#calls.takeInputs(), ...last];
  }
}

/** The input in the arguments of a call. Without the one argument, everything that the model wrote is the input. */
function inputIn(json: string): string {
  const whole = parseObject(json) ?? parseObject(`${json}"}`);
  const input = whole?.['input'];
  return typeof input === 'string' ? input : json;
}
