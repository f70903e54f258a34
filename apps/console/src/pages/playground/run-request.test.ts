import { describe, expect, it } from 'vitest';
import { newRun, takeEvent, takeResponse } from './run-request.ts';

describe('a run', () => {
  it('gathers the text as it comes, with the time of its first piece', () => {
    const events = [
      { type: 'response.created', response: { id: 'r', status: 'queued', output_text: '' } },
      { type: 'response.output_text.delta', delta: 'Hel' },
      { type: 'response.output_text.delta', delta: 'lo' },
      {
        type: 'response.completed',
        response: { id: 'r', status: 'completed', output_text: 'Hello', usage: { output_tokens: 2 } },
      },
    ];
    const run = events.reduce((before, event, at) => takeEvent(before, event, at * 10), newRun);
    expect(run).toMatchObject({
      ...{ id: 'r', status: 'completed', text: 'Hello', events: 4 },
      ...{ firstTokenMs: 10, outputTokens: 2, error: undefined },
    });
  });

  it('keeps what was said when it fails, and says why', () => {
    const begun = takeEvent(newRun, { type: 'response.output_text.delta', delta: 'Half' }, 5);
    const failed = takeResponse(begun, {
      status: 'failed',
      error: { code: 'model_error', message: 'It broke.' },
    });
    expect(failed.text).toBe('Half');
    expect(failed.error).toEqual(new Error('model_error: It broke.'));
  });
});
