import {
  isTerminal,
  outputItemSchema,
  outputText,
  responseIdSchema,
  type Status,
  usageSchema,
} from '@sluice/contract';

type Check = (value: unknown) => boolean;
type JsonObject = Record<string, unknown>;

/** Every member a response must have on the wire, and what it may hold. */
const members: Record<string, Check> = {
  id: (value) => responseIdSchema.safeParse(value).success,
  object: oneOf('response', 'create_response'),
  created_at: isInteger,
  completed_at: orNull(isInteger),
  status: oneOf('queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled'),
  incomplete_details: orNull((value) => isObject(value) && isText(value['reason'])),
  error: orNull(isError),
  model: isText,
  output: (value) => Array.isArray(value) && value.every((item) => outputItemSchema.safeParse(item).success),
  output_text: isText,
  usage: orNull(isUsage),
  instructions: orNull(isText),
  previous_response_id: orNull(isText),
  tools: (value) => Array.isArray(value) && value.every(isTool),
  tool_choice: isToolChoice,
  parallel_tool_calls: isBoolean,
  text: (value) => isObject(value) && isObject(value['format']) && isAbsentOrText(value['verbosity']),
  temperature: isNumber,
  top_p: isNumber,
  presence_penalty: isNumber,
  frequency_penalty: isNumber,
  top_logprobs: isInteger,
  reasoning: orNull(isReasoning),
  max_output_tokens: orNull(isInteger),
  max_tool_calls: orNull(isInteger),
  truncation: oneOf('auto', 'disabled'),
  store: isBoolean,
  background: isBoolean,
  service_tier: oneOf('default', 'flex', 'priority'),
  metadata: (value) => isObject(value) && Object.values(value).every(isText),
  safety_identifier: orNull(isText),
  prompt_cache_key: orNull(isText),
};

/**
 * What is wrong with a response object as it goes over the wire: members that are missing or hold what they may
 * not, and members that contradict its status. Empty when it is fine.
 */
export function checkResponse(response: unknown): string[] {
  if (!isObject(response)) return ['the response is not an object'];
  const problems = Object.entries(members)
    .filter(([name, isValid]) => !isValid(response[name]))
    .map(([name]) =>
      name in response
        ? `response.${name} may not be ${JSON.stringify(response[name])}`
        : `response.${name} is missing`,
    );
  // What the members say together is only worth a look once each of them is in order.
  return problems.length > 0 ? problems : checkStatus(response);
}

function checkStatus(response: JsonObject): string[] {
  const problems: string[] = [];
  const expect = (name: string, isSet: boolean) => {
    if ((response[name] !== null) !== isSet) {
      problems.push(`response.${name} must${isSet ? '' : ' not'} be set when the status is ${status}`);
    }
  };
  const status = response['status'] as Status; // held by the table
  const output = response['output'] as Parameters<typeof outputText>[0]; // held by the table
  expect('completed_at', status === 'completed');
  expect('error', status === 'failed');
  expect('incomplete_details', status === 'incomplete' || status === 'cancelled');
  if (status === 'completed' || status === 'incomplete') expect('usage', true);
  if (!isTerminal(status)) {
    expect('usage', false);
    if (output.length > 0) problems.push(`response.output must be empty when the status is ${status}`);
  }
  if (response['output_text'] !== outputText(output)) {
    problems.push('response.output_text is not the text of its output');
  }
  const details = response['incomplete_details'];
  if (isObject(details) && (details['reason'] === 'cancelled') !== (status === 'cancelled')) {
    problems.push(
      `response.incomplete_details may not be ${JSON.stringify(details)} when the status is ${status}`,
    );
  }
  return problems;
}

function isUsage(value: unknown): boolean {
  const usage = usageSchema.safeParse(value);
  return usage.success && usage.data.total_tokens === usage.data.input_tokens + usage.data.output_tokens;
}

function isError(value: unknown): boolean {
  return (
    isObject(value) &&
    isText(value['code']) &&
    isText(value['message']) &&
    isText(value['type']) &&
    (value['param'] === null || isText(value['param']))
  );
}

function isTool(value: unknown): boolean {
  return (
    isObject(value) &&
    value['type'] === 'function' &&
    isText(value['name']) &&
    orNull(isText)(value['description']) &&
    orNull(isObject)(value['parameters']) &&
    orNull(isBoolean)(value['strict'])
  );
}

function isToolChoice(value: unknown): boolean {
  if (!isObject(value)) return oneOf('none', 'auto', 'required')(value);
  return value['type'] === 'allowed_tools'
    ? Array.isArray(value['tools']) && oneOf('none', 'auto', 'required')(value['mode'])
    : value['type'] === 'function' && isText(value['name']);
}

function isReasoning(value: unknown): boolean {
  return (
    isObject(value) &&
    oneOf('none', 'low', 'medium', 'high', 'xhigh', null)(value['effort']) &&
    oneOf('auto', 'concise', 'detailed', null)(value['summary'])
  );
}

function oneOf(...allowed: (string | null)[]): Check {
  return (value) => allowed.some((each) => each === value);
}

function orNull(check: Check): Check {
  return (value) => value === null || check(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isAbsentOrText(value: unknown): boolean {
  return value === undefined || isText(value);
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number';
}

function isInteger(value: unknown): boolean {
  return Number.isInteger(value);
}

function isBoolean(value: unknown): boolean {
  return typeof value === 'boolean';
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
