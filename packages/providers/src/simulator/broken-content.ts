import type { Generation } from '@sluice/contract';
import { callableTools } from '../allowed-calls.ts';
import type { SimulatedCall, SimulatedContent } from './answer.ts';
import type { BreakablePromise } from './directives.ts';
import { matchesSchema } from './schema-match.ts';
import { SchemaWalk } from './schema-walk.ts';

/** The budget of a `SchemaWalk` for one value. */
const work = 10_000;

/** The content that breaks a promise, in place of what the simulator would have said. */
export function brokenContent(
  content: SimulatedContent,
  generation: Generation,
  promise: BreakablePromise,
): SimulatedContent {
  const { tools, demand } = callableTools(generation);
  switch (promise) {
    case 'tool_choice':
      return demand === 'required'
        ? { kind: 'text', text: 'No tool is called here, although one had to be.' }
        : { kind: 'calls', calls: [{ type: 'function', name: forbiddenTool(generation), text: '{}' }] };
    case 'parallel_calls': {
      const { type, name } = tools[0] ?? { type: 'function', name: 'nothing' };
      const calls = content.kind === 'calls' ? content.calls : [{ type, name, text: '{}' }];
      return { kind: 'calls', calls: [...calls, ...calls] };
    }
    case 'json':
      return inEachText(content, (text) => `${text.slice(0, Math.ceil(text.length / 2))}{`);
    case 'schema':
      return inEachText(content, (_, call) => brokenValue(schemaOf(generation, call)));
  }
}

function forbiddenTool(generation: Generation): string {
  const callable = new Set(callableTools(generation).tools.map(({ name }) => name));
  return generation.tools?.find(({ name }) => !callable.has(name))?.name ?? 'unknown_tool';
}

function inEachText(
  content: SimulatedContent,
  change: (text: string, call?: SimulatedCall) => string,
): SimulatedContent {
  if (content.kind !== 'calls') return { kind: 'json', text: change(content.text) };
  return {
    kind: 'calls',
    calls: content.calls.map((call) => ({ ...call, text: change(call.text, call) })),
  };
}

function schemaOf({ tools = [], text }: Generation, call: SimulatedCall | undefined): unknown {
  if (call) {
    const called = tools.find(({ name }) => name === call.name);
    return called?.type === 'function' ? (called.parameters ?? {}) : {};
  }
  return text?.format?.type === 'json_schema' ? text.format.schema : {};
}

/** JSON that does not satisfy a schema; `null` for one that everything satisfies. */
function brokenValue(schema: unknown): string {
  const values: unknown[] = [{}, [], 'broken', -0.5, true];
  const broken = values.find((value) => !matchesSchema(value, schema, new SchemaWalk(schema, work)));
  return JSON.stringify(broken ?? null);
}
