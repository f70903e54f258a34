import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { printResponse, tail } from './print-responses.ts';
import type { ShownResponse } from './shown-response.ts';

let printed: string[];

beforeEach(() => {
  printed = [];
  vi.spyOn(console, 'log').mockImplementation((line: string) => void printed.push(line));
});
afterEach(() => {
  vi.restoreAllMocks();
});

const hostile = 'a\u001b[2Jb\u009b2Jc\nd';
const controls = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/;

const response: ShownResponse = {
  id: 'resp_1',
  status: 'failed',
  model: hostile,
  created_at: 1_700_000_000,
  usage: null,
  error: { code: 'model_error', message: hostile },
  output_text: hostile,
};

describe('what others wrote', () => {
  it('is printed without control characters, and takes a line of its own only as text of a model', () => {
    printResponse(response, false);
    expect(printed.join('\n')).not.toMatch(controls);
    expect(printed).toContain('model    a\ufffd[2Jb\ufffd2Jc\ufffdd');
    expect(printed).toContain('error    model_error: a\ufffd[2Jb\ufffd2Jc\ufffdd');
    expect(printed.at(-1)).toBe('\na\ufffd[2Jb\ufffd2Jc\nd');
  });

  it('is the same as JSON, with all control characters escaped', async () => {
    printResponse(response, true);
    async function* events() {
      yield JSON.stringify(response);
    }
    await tail(events(), true);
    expect(printed.join('\n')).not.toMatch(controls);
    expect(printed.map((line) => JSON.parse(line) as unknown)).toEqual([response, response]);
  });
});
