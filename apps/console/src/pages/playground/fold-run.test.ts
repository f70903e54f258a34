import { describe, expect, it } from 'vitest';
import { endRun, newRun, takeEvent, takeResponse } from './fold-run.ts';

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

  it('has the calls that the model asks for, from its events or from the whole response', () => {
    const call = { type: 'function_call', name: 'weather', arguments: '{"city":"Ulm"}' };
    const custom = { type: 'custom_tool_call', name: 'shell', input: 'ls' };
    const calls = [
      { name: 'weather', arguments: '{"city":"Ulm"}' },
      { name: 'shell', arguments: 'ls' },
    ];
    const streamed = [call, { type: 'message' }, custom].reduce(
      (before, item) => takeEvent(before, { type: 'response.output_item.done', item }, 1),
      newRun,
    );
    expect(streamed.calls).toEqual(calls);
    const output = [call, custom];
    expect(takeResponse(streamed, { status: 'completed', output }).calls).toEqual(calls);
    expect(takeResponse(newRun, { status: 'completed', output }).calls).toEqual(calls);
  });

  it('knows its place in the queue while it waits', () => {
    const waiting = takeResponse(newRun, { status: 'queued', queue_position: 3 });
    expect(waiting.position).toBe(3);
    expect(takeResponse(waiting, { status: 'in_progress' }).position).toBeUndefined();
  });

  it.each([
    ['completed', 'done'],
    ['incomplete', 'done'],
    ['cancelled', 'stopped'],
    ['failed', 'failed'],
  ])('that ends as %s is %s', (status, state) => {
    expect(endRun(takeResponse(newRun, { status }), 7)).toMatchObject({ state, tookMs: 7, error: undefined });
  });

  it('is failed when its events end before the response does, or end with an error', () => {
    const cut = endRun(takeResponse(newRun, { status: 'in_progress' }), 7);
    expect(cut).toMatchObject({ state: 'failed', error: { message: expect.stringContaining('broke off') } });
    const told = takeEvent(newRun, { type: 'error', code: 'server_error', message: 'No.' }, 5);
    expect(endRun(told, 7)).toMatchObject({ state: 'failed', error: { message: 'server_error: No.' } });
  });
});
