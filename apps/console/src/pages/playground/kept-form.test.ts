import { describe, expect, it } from 'vitest';
import { keepForm, readForm } from './kept-form.ts';
import { emptyForm } from './request-body.ts';

function storage(kept: Record<string, string> = {}) {
  return {
    getItem: (name: string) => kept[name] ?? null,
    setItem: (name: string, value: string) => {
      kept[name] = value;
    },
  };
}

describe('the form of a tab', () => {
  it('is what was typed', () => {
    const tab = storage();
    const form = { ...emptyForm, input: 'Hi', isBackground: true };
    keepForm(tab, 'first', form);
    expect(readForm(tab, 'first')).toEqual(form);
    expect(readForm(tab, 'second')).toEqual(emptyForm);
  });

  it.each(['', 'null', '[]', '7', '{"input":7,"isStreamed":"yes","other":1}', '{'])(
    'is empty for %j',
    (kept) => {
      expect(readForm(storage({ first: kept }), 'first')).toEqual(emptyForm);
    },
  );

  it('needs no room', () => {
    const full = {
      setItem: () => {
        throw new Error('QuotaExceededError');
      },
    };
    expect(() => keepForm(full, 'first', emptyForm)).not.toThrow();
  });
});
