import { costAgainstParsing } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { loggedError } from './logged-error.ts';
import { createLogger, type Logger } from './logger.ts';
import { maskSecrets } from './mask-secrets.ts';

function capture(): { logger: Logger; lines: string[] } {
  const lines: string[] = [];
  const logger = createLogger({
    name: 'api',
    level: 'info',
    destination: { write: (line) => lines.push(line) },
  });
  return { logger, lines };
}

const CANARY = 'canary-7f3a';

describe('logger', () => {
  it('writes one JSON object a line with level, ISO time and name', () => {
    const { logger, lines } = capture();
    logger.info({ responseId: 'r1' }, 'accepted\r\n\u001b[31m');
    logger.debug('not at this level');
    expect(lines).toHaveLength(1);
    for (const control of ['\r', '\n', '\u001b']) expect(lines[0]?.trimEnd()).not.toContain(control);
    const line = JSON.parse(lines[0] ?? '');
    expect(line).toMatchObject({ level: 'info', name: 'api', responseId: 'r1' });
    expect(new Date(line.time).toISOString()).toBe(line.time);
  });

  it.each([
    { authorization: CANARY },
    { headers: { authorization: CANARY, 'x-api-key': CANARY } },
    { req: { headers: { cookie: CANARY } } },
    { provider: { apiKey: CANARY } },
    { apiKey: CANARY, token: CANARY, secret: CANARY, password: CANARY, redisUrl: CANARY },
    { request: { input: CANARY, instructions: CANARY, messages: [CANARY] } },
    { response: { output: [{ content: CANARY }] } },
  ])('hides credentials and content in %j', (fields) => {
    const { logger, lines } = capture();
    logger.error(fields, 'failed');
    logger.child(fields).error('failed');
    expect(lines).toHaveLength(2);
    expect(lines.join('')).not.toContain(CANARY);
  });

  it('shows what caused a defect, and what caused that, to a bound', () => {
    const { logger, lines } = capture();
    const root = new RangeError('the log is broken at redis://user:secret@host');
    const ring = new Error('a failure of our own', { cause: new Error('in between', { cause: root }) });
    root.cause = ring;
    logger.error({ err: ring }, 'attempt failed');
    const { err } = JSON.parse(lines[0] ?? '');
    const message = expect.stringMatching(/^the log is broken/);
    expect(err.cause).toMatchObject({ type: 'Error', cause: { type: 'RangeError', message } });
    expect(err.cause.cause.stack).toContain('logger.test.ts');
    expect(lines[0]).not.toContain('secret');
    for (const cause of [new Error(CANARY), { input: CANARY }]) {
      logger.error({ err: new Error('plain', { cause }) }, 'attempt failed');
    }
    expect(lines.join('')).not.toContain(CANARY);
  });

  it('reduces errors under any name to what is safe', () => {
    const { logger, lines } = capture();
    const error = Object.assign(new Error('command failed'), {
      code: 'ERR_X',
      command: { name: 'eval', args: [CANARY] },
      cause: new Error(CANARY),
    });
    logger.error(error);
    logger.error({ err: error }, 'failed');
    logger.error({ reason: error }, 'failed');
    logger.error({ err: { body: CANARY } }, 'failed');
    expect(lines.join('')).not.toContain(CANARY);
    expect(JSON.parse(lines[2] ?? '').reason).toMatchObject({
      type: 'Error',
      code: 'ERR_X',
      message: 'command failed',
    });
  });

  it('shows an error that was reduced before it was logged', () => {
    const { logger, lines } = capture();
    const error = Object.assign(new RangeError('no connection'), { code: 'ECONNREFUSED' });
    logger.warn({ err: loggedError(error) }, 'store error');
    logger.warn({ err: error }, 'store error');
    for (const line of lines) {
      expect(JSON.parse(line).err).toMatchObject({
        type: 'RangeError',
        code: 'ECONNREFUSED',
        message: 'no connection',
      });
    }
  });
});

describe('logged error', () => {
  it('keeps the frames and not the message in the stack', () => {
    const { stack, message } = loggedError(new TypeError('redis://user:pass@host is down'));
    expect(message).toBe('redis://***@host is down');
    expect(stack).toMatch(/^at /);
    expect(stack).not.toContain('pass');
  });

  it('does not quote input that is no JSON', () => {
    const parse = () => JSON.parse(`"${CANARY}`);
    expect(parse).toThrow();
    try {
      parse();
    } catch (error) {
      expect(JSON.stringify(loggedError(error))).not.toContain(CANARY);
    }
  });

  it('names only the type of what is not an error', () => {
    expect(loggedError(CANARY)).toMatchObject({ type: 'string', stack: '' });
    expect(JSON.stringify(loggedError(CANARY))).not.toContain(CANARY);
  });
});

describe('masking', () => {
  it.each([
    ['redis://:hunter2hunter2@db:6379/0', 'redis://***@db:6379/0'],
    ['Authorization: Bearer abc.def-ghi_jkl', 'Authorization: Bearer ***'],
    ['wrong key sk-proj-abcdef0123456789', 'wrong key sk-***'],
    ['http://127.0.0.1:8000/v1 answered 500', 'http://127.0.0.1:8000/v1 answered 500'],
  ])('turns %s into %s', (text, masked) => {
    expect(maskSecrets(text)).toBe(masked);
  });

  it.each(['a-', 'a://', 'bearer ', 'sk-'])('takes time in proportion to a text of %s', (part) => {
    const text = part.repeat(50_000);
    expect(costAgainstParsing([text], () => () => maskSecrets(text))).toBeLessThan(1_000);
  });
});
