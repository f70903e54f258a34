import { describe, expect, it } from 'vitest';
import { itemText } from './item-text.ts';

describe('an item to read', () => {
  it.each([
    [{ role: 'user', content: 'Hello' }, 'user', 'Hello'],
    [
      {
        type: 'message',
        role: 'assistant',
        content: [
          { type: 'output_text', text: 'One' },
          { type: 'refusal', refusal: 'No' },
        ],
      },
      'assistant',
      'One\nNo',
    ],
    [
      { type: 'function_call', name: 'weather', arguments: '{"city":"Bonn"}' },
      'call of weather',
      '{"city":"Bonn"}',
    ],
    [{ type: 'function_call_output', output: 'sunny' }, 'tool output', 'sunny'],
    [{ type: 'reasoning', summary: [{ type: 'summary_text', text: 'Because' }] }, 'reasoning', 'Because'],
  ])('reads %j', (item, title, text) => {
    expect(itemText(item)).toEqual({ title, text });
  });

  it('names an image and does not show its address', () => {
    const item = {
      role: 'user',
      content: [{ type: 'input_image', image_url: 'https://elsewhere.example/x.png' }],
    };
    expect(itemText(item)).toEqual({ title: 'user', text: '[input_image]' });
  });

  it('shows what it does not know as JSON', () => {
    expect(itemText({ type: 'compaction', id: 'c' }).text).toContain('"compaction"');
    expect(itemText(null)).toEqual({ title: 'message', text: '' });
  });
});
