import { isToolCall, type OutputItem } from '@sluice/contract';
import { callableTools, type Disposition, type FinishReason, ProviderError } from '@sluice/providers';
import type { StoredRequest } from '@sluice/response-store';
import type { JsonCheck, JsonVerdict } from './check-json.ts';

/** A promise that takes a check of the JSON. */
interface Promised extends JsonCheck {
  /** Describes the text in a sentence about it. */
  as: string;
  param: string;
}

/** Returns a verdict for each check. */
export type CheckAll = (checks: readonly JsonCheck[]) => Promise<readonly JsonVerdict[]>;

/**
 * Finds the first promise that a finished answer breaks, as the error of its attempt; undefined if it keeps them all.
 *
 * An answer that was cut off promises nothing: its response is incomplete, and says so. That no tool is called which the
 * request does not allow, and no second one without parallel calls, is kept while the answer comes: see `AllowedCalls`.
 */
export async function findBrokenPromise(
  answer: { request: StoredRequest; output: readonly OutputItem[]; finish: FinishReason },
  checkAll: CheckAll,
): Promise<ProviderError | undefined> {
  const { request, output, finish } = answer;
  if (finish !== 'stop' && finish !== 'function_call') return undefined;
  const missing = missingCall(request, output);
  if (missing) return missing;
  const promised = [...strictArguments(request, output), ...strictFormat(request, output)];
  if (promised.length === 0) return undefined;
  const verdicts = await checkAll(promised.map(({ text, schema }) => ({ text, schema })));
  for (const [at, each] of promised.entries()) {
    const verdict = verdicts[at] ?? 'unknown';
    if (verdict !== 'satisfied') return broken(each, verdict);
  }
  return undefined;
}

function missingCall(request: StoredRequest, output: readonly OutputItem[]): ProviderError | undefined {
  const { demand } = callableTools(request);
  if (demand !== 'required' || output.some(isToolCall)) return undefined;
  const choice = request.tool_choice;
  const demanded =
    typeof choice === 'object' && choice.type !== 'allowed_tools'
      ? `the ${choice.type} tool '${choice.name}'`
      : 'any of the tools that it had to choose from';
  return invalidOutput(`The model did not call ${demanded}.`, 'tool_choice');
}

function strictArguments({ tools = [] }: StoredRequest, output: readonly OutputItem[]): Promised[] {
  const strict = new Map(
    tools.flatMap((tool) => (tool.type === 'function' && tool.strict === true ? [[tool.name, tool]] : [])),
  );
  return output.flatMap((item) => {
    const tool = item.type === 'function_call' ? strict.get(item.name) : undefined;
    if (item.type !== 'function_call' || !tool) return [];
    const as = `the arguments of the strict function '${tool.name}'`;
    return [{ as, param: 'tools', text: item.arguments, schema: tool.parameters ?? {} }];
  });
}

/**
 * Every text of the answer must be the JSON that was asked for, because clients parse each. An answer that calls tools is not
 * the last one, and one that refuses gives no JSON.
 */
function strictFormat({ text }: StoredRequest, output: readonly OutputItem[]): Promised[] {
  const format = text?.format;
  if (format?.type !== 'json_schema' || format.strict !== true || output.some(isToolCall)) return [];
  const parts = output.flatMap((item) =>
    item.type === 'message' && item.phase !== 'commentary' ? item.content : [],
  );
  if (parts.some((part) => part.type === 'refusal')) return [];
  const texts = parts.flatMap((part) => (part.type === 'output_text' ? [part.text] : []));
  // No text at all is no JSON either.
  return (texts.length === 0 ? [''] : texts).map((each) => ({
    as: 'its output in the strict format',
    param: 'text.format',
    text: each,
    schema: format.schema,
  }));
}

function broken({ as, param }: Promised, verdict: Exclude<JsonVerdict, 'satisfied'>): ProviderError {
  const given = `What the model gave as ${as}`;
  switch (verdict) {
    case 'not_json':
      return invalidOutput(`${given} is not JSON.`, param);
    case 'not_satisfied':
      return invalidOutput(`${given} does not satisfy the schema.`, param);
    case 'unknown':
      // The schema is as costly for the next answer.
      return invalidOutput(`${given} could not be checked against the schema.`, param, 'fail');
  }
}

/** The sentence is ours, with names that the client chose. It quotes nothing of the answer. */
function invalidOutput(sentence: string, param: string, disposition: Disposition = 'retry'): ProviderError {
  return new ProviderError('invalid_model_output', sentence, {
    disposition,
    publicMessage: sentence,
    param,
  });
}
