import { onTestFinished, describe, expect, it } from 'vitest';
import { within } from '@sluice/testing';
import { JsonChecks, type JsonChecksOptions } from '../src/promises/json-checks.ts';

/** Alternatives that multiply with the depth of the value. */
const costly = {
  $ref: '#/$defs/a',
  $defs: {
    a: {
      anyOf: ['x', 'y', 'z'].map((name) => ({
        type: 'object',
        properties: { a: { $ref: '#/$defs/a' } },
        required: ['a', name],
      })),
    },
  },
};
const deep = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
const endless = { text: deep(40), schema: costly };
const quick = { text: '{"a":1}', schema: { type: 'object' } };

function checksWith(options: Partial<JsonChecksOptions> = {}) {
  const errors: unknown[] = [];
  const checks = new JsonChecks({ onError: (error) => errors.push(error), ...options });
  onTestFinished(() => checks.stop());
  const never = new AbortController().signal;
  return { checks, never, errors };
}

describe('checks of an answer', () => {
  it('give a verdict for each', async () => {
    const { checks, never } = checksWith();
    const verdicts = await within(
      checks.check('t', [quick, { ...quick, text: '[]' }, { ...quick, text: '{' }], never),
    );
    expect(verdicts).toEqual(['satisfied', 'not_satisfied', 'not_json']);
  });

  it('match patterns in linear time', async () => {
    const { checks, never } = checksWith();
    const hostile = { text: JSON.stringify(`${'a'.repeat(10_000)}!`), schema: { pattern: '^(a+)+$' } };
    expect(await within(checks.check('t', [hostile], never))).toEqual(['not_satisfied']);
  });

  it('that take too long stay unknown, and those after them do not', async () => {
    const { checks, never } = checksWith({ withinMs: 200 });
    const [first, second] = [checks.check('t', [endless], never), checks.check('t', [quick], never)];
    expect(await within(first)).toEqual(['unknown']);
    expect(await within(second)).toEqual(['satisfied']);
  });

  it('of another tenant do not wait for those of a costly one', async () => {
    const { checks, never } = checksWith({ withinMs: 60_000 });
    const abort = new AbortController();
    const costlyOnes = [1, 2, 3].map(() => checks.check('costly', [endless], abort.signal));
    expect(await within(checks.check('other', [quick], never))).toEqual(['satisfied']);
    abort.abort();
    expect(await within(Promise.all(costlyOnes))).toEqual([['unknown'], ['unknown'], ['unknown']]);
  });

  it('end with the process', async () => {
    const { checks, never } = checksWith({ withinMs: 60_000 });
    const waiting = [1, 2, 3].map(() => checks.check('t', [endless], never));
    await checks.stop();
    expect(await within(Promise.all(waiting))).toEqual([['unknown'], ['unknown'], ['unknown']]);
    expect(await checks.check('t', [quick], never)).toEqual(['unknown']);
  });
});
