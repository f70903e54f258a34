import { errorEnvelopeSchema } from '@sluice/contract';
import { messageErrorSchema } from '@sluice/protocols';
import type { BadRequest } from './bad-request.ts';
import type { RawAnswer } from './raw-http.ts';

/** What is wrong with the answer to a request. */
export function judgeAnswer(request: BadRequest, answer: RawAnswer): string[] {
  const { status, text } = answer;
  if (status === 0) return ['no answer'];
  const problems: string[] = answer.isClosed ? [] : ['the connection stayed open'];
  if (status >= 500 && !isHonest503(answer)) problems.push(`answered with ${status}`);
  if (request.verdict.kind === 'refused' && status < 400)
    problems.push(`answered with ${status}, although it is wrong`);
  if (status >= 400 && request.method !== 'HEAD') problems.push(...judgeError(request, text));
  if (/node_modules|\.[jt]s:\d+|at \w+ \(/.test(text)) problems.push('the answer shows our code');
  return problems;
}

function isHonest503({ status, headers }: RawAnswer): boolean {
  return status === 503 && Number(headers.get('retry-after')) >= 1;
}

function judgeError({ path, verdict }: BadRequest, text: string): string[] {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return [`the body is no JSON: ${text.slice(0, 200)}`];
  }
  const param = path === '/v1/messages' ? paramOfMessage(body) : paramOf(body);
  if (param === undefined) return [`the body is no error envelope: ${text.slice(0, 200)}`];
  if (verdict.kind !== 'refused' || verdict.param === undefined) return [];
  return param === verdict.param
    ? []
    : [
        `the error names ${JSON.stringify(param)}, not ${JSON.stringify(verdict.param)}: ${text.slice(0, 200)}`,
      ];
}

/** The member that an error names, if any; undefined for what is no error. */
function paramOf(body: unknown): string | null | undefined {
  return errorEnvelopeSchema.safeParse(body).data?.error.param;
}

function paramOfMessage(body: unknown): string | null | undefined {
  return messageErrorSchema.safeParse(body).data?.error.details.param;
}
