import type { ModelRow } from '@sluice/contract/admin';
import { describe, expect, it } from 'vitest';
import { emptyForm, fieldOfParam, modelChange, modelFormOf, newModel } from './model-form.ts';

const row: ModelRow = {
  id: 'a',
  origin: 'stored',
  routes: [
    { provider: 'vllm', model: 'Qwen/Qwen3-8B:fp8' },
    { provider: 'house', model: 'a' },
  ],
  queue: 'a',
  paused: false,
  waiting: 0,
  active: 0,
  concurrency: 4,
};

describe('the form of a model', () => {
  it('says what a stored model is, and changes nothing as it stands', () => {
    const form = modelFormOf(row);
    expect(form).toEqual({ id: 'a', routes: 'vllm: Qwen/Qwen3-8B:fp8\nhouse', queue: '', concurrency: '4' });
    expect(modelChange(form, form)).toBeUndefined();
  });

  it('changes what differs, and takes away what was emptied', () => {
    const before = modelFormOf({ ...row, queue: 'shared' });
    const now = { ...before, routes: 'house\n\n', queue: ' ', concurrency: '' };
    expect(modelChange(before, now)).toEqual({
      routes: [{ provider: 'house' }],
      queue: null,
      concurrency: null,
    });
  });

  it('makes a model of what is typed', () => {
    const form = { ...emptyForm, id: ' b ', routes: 'vllm : x', concurrency: '8' };
    expect(newModel(form)).toEqual({ id: 'b', routes: [{ provider: 'vllm', model: 'x' }], concurrency: 8 });
    expect(newModel({ ...form, concurrency: 'many' })).toMatchObject({ concurrency: 'many' });
  });

  it('finds the field that a refusal names', () => {
    expect(['routes[0].provider', 'concurrency', 'nope', null].map(fieldOfParam)).toEqual([
      'routes',
      'concurrency',
      undefined,
      undefined,
    ]);
  });
});
