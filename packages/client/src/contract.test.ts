import type { createResponseSchema, ResponseBody, ResponseEvent as EventOfContract } from '@sluice/contract';
import { lifecycleTypes } from '@sluice/contract';
import { expect, expectTypeOf, it } from 'vitest';
import type { CreateRequest, ResponseEvent, ResponseObject } from './index.ts';
import { isLastEvent } from './index.ts';

// The types of the client are its own, so that it needs nothing at run time. These tests keep them true.

it('takes every response and every event of the contract', () => {
  expectTypeOf<ResponseBody>().toExtend<ResponseObject>();
  expectTypeOf<EventOfContract>().toExtend<ResponseEvent>();
});

it('names no event that the contract does not have, but for the names of the specification', () => {
  type Renamed = 'response.reasoning.delta' | 'response.reasoning.done';
  expectTypeOf<Exclude<ResponseEvent['type'], Renamed>>().toEqualTypeOf<EventOfContract['type']>();
});

it('asks for nothing that the contract does not know', () => {
  type Known = (typeof createResponseSchema)['_zod']['input'];
  type Named = { [Key in keyof CreateRequest as string extends Key ? never : Key]: CreateRequest[Key] };
  expectTypeOf<keyof Named>().toExtend<keyof Known>();
  // The contract removes members that are null before it parses the others.
  type Given = { [Key in keyof Named]: Exclude<Named[Key], null> };
  expectTypeOf<Omit<Given, 'input' | 'tools'>>().toExtend<Omit<Known, 'input' | 'tools'>>();
});

it('knows which events are the last', () => {
  const last = lifecycleTypes.filter((type) => isLastEvent({ type } as ResponseEvent)); // its type is all that counts
  expect(last).toEqual(['response.completed', 'response.incomplete', 'response.failed']);
});
