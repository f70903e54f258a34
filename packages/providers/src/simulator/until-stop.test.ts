import { describe, expect, it } from 'vitest';
import { untilStop } from './until-stop.ts';

const cut = (pieces: string[], ...sequences: string[]) => [...untilStop(pieces, sequences)];

describe('untilStop', () => {
  it.each<[string[], string[], string[]]>([
    [['a', 'b'], [], ['a', 'b']],
    [['a', 'b'], [''], ['a', 'b']],
    [['a', 'b'], ['x'], ['a', 'b']],
    [['a', 'b', 'c'], ['b'], ['a']],
    [['One', ' two', ' three'], ['wo th'], ['One', ' t']],
    [['One', ' two', ' three'], ['e t', 'two'], ['On']],
    [['a', 'a', 'b'], ['ab'], ['a']],
    [['abcd'], ['bc', 'abc'], []],
    [['ab', 'ac'], ['abad'], ['ab', 'ac']],
    [['END'], ['END'], []],
  ])('ends %j before the first of %j', (pieces, sequences, expected) => {
    expect(cut(pieces, ...sequences)).toEqual(expected);
  });

  it('ends any cut of a text at the same place', () => {
    const text = 'aabaabaaabaabb and so on';
    for (let size = 1; size < text.length; size += 1) {
      const pieces = text.match(new RegExp(`.{1,${size}}`, 'g')) ?? [];
      expect(cut(pieces, 'aaba\u00e4', 'aabb', 'bb').join('')).toBe('aabaabaaab');
    }
  });

  it('holds back what may belong to a sequence alone', () => {
    const seen: string[] = [];
    const pieces = function* () {
      for (const piece of ['Hi', ' th', 'ere', ' you']) {
        seen.push(`in ${piece}`);
        yield piece;
      }
    };
    for (const piece of untilStop(pieces(), ['there is'])) seen.push(`out ${piece}`);
    expect(seen).toEqual([
      'in Hi',
      'out Hi',
      'in  th',
      'in ere',
      'in  you',
      'out  th',
      'out ere',
      'out  you',
    ]);
  });
});
