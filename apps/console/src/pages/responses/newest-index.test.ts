import type { ResponseRows } from '@sluice/contract/admin';
import { expect, it } from 'vitest';
import { newestIndex } from './newest-index.ts';

type State = ResponseRows['index']['state'];

it.each<[list: State | undefined, facets: State | undefined, newest: State | undefined]>([
  ['ready', 'unavailable', 'unavailable'],
  ['unavailable', 'ready', 'ready'],
  ['ready', 'ready', 'ready'],
  ['loading', 'ready', 'loading'],
  ['loading', 'loading', 'loading'],
  ['ready', 'loading', 'ready'],
  ['unavailable', 'loading', 'loading'],
  ['ready', undefined, 'ready'],
  [undefined, 'off', 'off'],
  [undefined, undefined, undefined],
])('takes what the list (%s) and the facets (%s) say of the index as %s', (list, facets, newest) => {
  const index = (state: State | undefined) => state && { state, loaded_percent: 50, size: 1 };
  expect(newestIndex(index(list), index(facets))).toEqual(index(newest));
});
