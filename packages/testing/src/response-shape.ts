import { isDeepStrictEqual } from 'node:util';
import { isTerminal, outputText, type ResponseBody, responseBodySchema } from '@sluice/contract';

type JsonObject = Record<string, unknown>;

/**
 * Checks a response object as clients receive it. Returns one sentence for each member that is missing, unknown, not
 * allowed by the contract's schema, or in contradiction to the status.
 */
export function checkResponse(response: unknown): string[] {
  const problems = checkShape(response);
  // The rules about the status read the members, so the members must be valid first.
  return problems.length > 0 ? problems : checkStatus(responseBodySchema.parse(response));
}

/** Checks each member by itself. A value without problems is a `ResponseBody`. */
export function checkShape(response: unknown): string[] {
  if (!isObject(response)) return ['the response is not an object'];
  const { success, data, error } = responseBodySchema.safeParse(response);
  if (!success) {
    return [...new Set(error.issues.map(({ path }) => String(path[0])))].map((name) =>
      name in response
        ? `response.${name} may not be ${JSON.stringify(response[name])}`
        : `response.${name} is missing`,
    );
  }
  // The schema drops unknown members at every depth. A dropped member shows as a difference.
  const known: JsonObject = data;
  return Object.keys(response)
    .filter((name) => !isDeepStrictEqual(known[name], response[name]))
    .map((name) =>
      name in known
        ? `response.${name} may not be ${JSON.stringify(response[name])}`
        : `response.${name} is not a member of a response`,
    );
}

/** Checks the members against the status and each other. */
export function checkStatus(response: ResponseBody): string[] {
  const { status, usage, output, incomplete_details: details } = response;
  const problems: string[] = [];
  const expect = (name: keyof ResponseBody, isSet: boolean) => {
    if ((response[name] !== null) !== isSet) {
      problems.push(`response.${name} must${isSet ? '' : ' not'} be set when the status is ${status}`);
    }
  };
  expect('completed_at', status === 'completed');
  expect('error', status === 'failed');
  expect('incomplete_details', status === 'incomplete' || status === 'cancelled');
  if (status === 'completed' || status === 'incomplete') expect('usage', true);
  if (!isTerminal(status)) {
    expect('usage', false);
    if (output.length > 0) problems.push(`response.output must be empty when the status is ${status}`);
  }
  if (usage && usage.total_tokens !== usage.input_tokens + usage.output_tokens) {
    problems.push(`response.usage may not be ${JSON.stringify(usage)}: its total is not the sum`);
  }
  if (response.output_text !== outputText(output)) {
    problems.push('response.output_text is not the text of its output');
  }
  if (details && (details.reason === 'cancelled') !== (status === 'cancelled')) {
    problems.push(
      `response.incomplete_details may not be ${JSON.stringify(details)} when the status is ${status}`,
    );
  }
  return problems;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
