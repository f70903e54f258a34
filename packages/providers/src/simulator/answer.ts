import { hash } from 'node:crypto';
import {
  allowsParallelCalls,
  echoFormat,
  type FunctionTool,
  type Generation,
  type InputPart,
  type Tool,
} from '@sluice/contract';
import { callableTools } from '../allowed-calls.ts';
import { exampleFromSchema } from './example-from-schema.ts';
import type { JsonObject } from '../json-fields.ts';
import { answerText, reasoningText, refusalText } from './text.ts';
import { readDirectives, type SimulatorDirectives } from './directives.ts';

/** The answer of the simulator, before it is cut into tokens. */
export interface SimulatedAnswer {
  directives: SimulatorDirectives;
  /** The summary of the reasoning item at the start, if there is one. */
  reasoning: string | undefined;
  content: SimulatedContent;
}

export type SimulatedContent =
  | { kind: 'text'; text: string }
  | { kind: 'json'; text: string }
  | { kind: 'refusal'; text: string }
  | { kind: 'calls'; calls: SimulatedCall[] };

/** A call of a function, with arguments in JSON as its text, or of a custom tool, with any text as its input. */
export interface SimulatedCall {
  type: Tool['type'];
  name: string;
  text: string;
}

export interface SimulatedCharacter {
  /** Another seed chooses other words. */
  seed: number;
  /** Whether every answer begins with a reasoning item, or only those whose request asks for one. */
  reasoning: boolean;
}

/** Most calls in one answer, however many tools the text mentions. */
const maxCalls = 8;

/** Decides on an answer. Pure: the same request for the same character gives the same answer. */
export function simulateAnswer(
  generation: Generation,
  model: string,
  character: SimulatedCharacter,
): SimulatedAnswer {
  const prompt = lastPrompt(generation);
  const { directives, text: userText } = readDirectives(prompt.text);
  const topic = { ...prompt, userText };
  const { seed = character.seed } = generation;
  const content = (): SimulatedContent => {
    if (directives.refuse) return { kind: 'refusal', text: refusalText() };
    const calls = callsFor(generation, topic);
    if (calls.length > 0) return { kind: 'calls', calls };
    const text = answerText(topic, seedOf(model, seed, topic));
    const json = jsonFor(generation, text);
    return json === undefined ? { kind: 'text', text } : { kind: 'json', text: json };
  };
  return {
    directives,
    reasoning: reasons(generation, character) ? reasoningText(userText) : undefined,
    content: content(),
  };
}

interface Prompt {
  /** The last text of the user. */
  text: string;
  mediaCount: number;
  /** The outputs of tools after it. */
  toolOutputs: { name: string; output: string }[];
}

function lastPrompt({ input }: Generation): Prompt {
  const toolOutputs: Prompt['toolOutputs'] = [];
  const names = new Map<string, string>();
  for (const item of input) {
    if (item.type === 'function_call' || item.type === 'custom_tool_call') names.set(item.call_id, item.name);
  }
  for (const item of input.toReversed()) {
    if (item.type === 'function_call_output' || item.type === 'custom_tool_call_output') {
      const given = 'name' in item ? item.name : undefined;
      const name = given ?? names.get(item.call_id ?? '') ?? 'that was called';
      toolOutputs.unshift({ name, output: textOf(item.output) });
    } else if (item.type === 'message' && item.role === 'user') {
      const parts = typeof item.content === 'string' ? [] : item.content;
      return {
        text: textOf(item.content),
        mediaCount: parts.filter((part) => part.type !== 'input_text').length,
        toolOutputs,
      };
    }
  }
  return { text: '', mediaCount: 0, toolOutputs };
}

function textOf(content: string | readonly InputPart[]): string {
  if (typeof content === 'string') return content;
  return content
    .map((part) => ('text' in part ? part.text : ''))
    .filter((text) => text !== '')
    .join('\n');
}

/** A seed from enough of a request to tell it from another. Hashing all of a long prompt would cost too much. */
function seedOf(
  model: string,
  seed: number,
  { userText, toolOutputs, mediaCount }: Omit<Prompt, 'text'> & { userText: string },
): number {
  const outputs = toolOutputs.map(({ name, output }) => [name, output.slice(0, 1000)]);
  const digest = hash(
    'sha1',
    JSON.stringify([seed, model, userText.slice(0, 10_000), userText.length, outputs, mediaCount]),
  );
  return Number.parseInt(digest.slice(0, 8), 16);
}

function reasons({ reasoning }: Generation, character: SimulatedCharacter): boolean {
  if (reasoning?.effort === 'none') return false;
  return (
    character.reasoning ||
    reasoning?.effort != null ||
    reasoning?.summary != null ||
    reasoning?.generate_summary != null
  );
}

/**
 * The calls of an answer: of the tools that the text mentions, or of the first one if the request demands a call and
 * the text mentions none. Without a demand there are none once there are outputs of tools to answer.
 */
function callsFor(
  generation: Generation,
  { userText, toolOutputs }: { userText: string; toolOutputs: readonly unknown[] },
): SimulatedCall[] {
  const { tools, demand } = callableTools(generation);
  if (demand === 'none' || (demand === 'auto' && toolOutputs.length > 0)) return [];
  const words = new Set(wordsIn(userText.slice(0, 100_000)));
  const meant = tools.filter((tool) => speaksOf(words, tool.name));
  const chosen = meant.length === 0 && demand === 'required' ? tools.slice(0, 1) : meant;
  const most = allowsParallelCalls(generation) ? maxCalls : 1;
  return chosen.slice(0, most).map((tool) => {
    const { type, name } = tool;
    return { type, name, text: tool.type === 'custom' ? userText : argumentsFor(tool) };
  });
}

function argumentsFor({ parameters }: FunctionTool): string {
  return JSON.stringify(exampleFromSchema(objectSchema(parameters)) ?? {});
}

/** Arguments must be an object, even if the tool's schema does not say so. */
function objectSchema(parameters: JsonObject | null | undefined): JsonObject {
  return { ...parameters, type: 'object' };
}

/** Words in names of tools without a meaning of their own. */
const plainVerbs = new Set([
  'get',
  'set',
  'do',
  'run',
  'call',
  'fetch',
  'make',
  'current',
  'the',
  'my',
  'tool',
]);

/** Whether a text holds the name of a tool, or all of its meaningful words: "weather" stands for `get_weather`. */
function speaksOf(words: ReadonlySet<string>, name: string): boolean {
  if (words.has(name.toLowerCase())) return true;
  const telling = wordsIn(name.replace(/([a-z])([A-Z])/g, '$1 $2').replace(/[_-]/g, ' ')).filter(
    (word) => !plainVerbs.has(word),
  );
  return telling.length > 0 && telling.every((word) => words.has(word));
}

function wordsIn(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}_-]+/gu) ?? [];
}

/** The answer as JSON if the format demands it. An empty object stands in if no example of the schema was found. */
function jsonFor({ text }: Generation, answer: string): string | undefined {
  const format = echoFormat(text?.format);
  if (format.type === 'text') return undefined;
  if (format.type === 'json_object') return JSON.stringify({ answer });
  return JSON.stringify(exampleFromSchema(format.schema) ?? {});
}
