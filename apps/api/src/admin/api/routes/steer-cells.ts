import { addCellSchema, cellListSchema, changedCellSchema } from '@sluice/contract/admin';
import { z } from 'zod';
import { json, schemaErrors } from '../../../route.ts';
import { actingErrors, actingRoute, askerOf, jsonBody, readingErrors, readingRoute } from '../admin-route.ts';

const params = z.object({ cell: z.string() });
const errors = [...actingErrors, 'invalid_value', 'not_found'] as const;

export const listCells = readingRoute({
  name: 'listCells',
  method: 'GET',
  path: '/cells',
  summary: 'The cells of the store: their state, what is in them, and when one that drains may go.',
  answers: [json(cellListSchema)],
  errors: [...readingErrors],
  handle: (_input, { operator }) => operator.cells.list(),
});

export const addCell = actingRoute({
  name: 'addCell',
  method: 'POST',
  path: '/cells',
  summary: 'Adds a cell. It takes new responses once every process has reached it.',
  body: jsonBody(addCellSchema, { address: 'redis://:password@redis-2:6379?cell=E' }),
  answers: [json(changedCellSchema)],
  errors: [...actingErrors, ...schemaErrors],
  handle: ({ body, request }, { operator }) => operator.cells.add(body.address, askerOf(request)),
});

export const drainCell = actingRoute({
  name: 'drainCell',
  method: 'POST',
  path: '/cells/:cell/drain',
  summary: 'Has a cell take no new responses, but for those that continue one of its own.',
  params,
  answers: [json(changedCellSchema)],
  errors,
  handle: ({ params: { cell }, request }, { operator }) => operator.cells.drain(cell, askerOf(request)),
});

export const openCell = actingRoute({
  name: 'openCell',
  method: 'POST',
  path: '/cells/:cell/open',
  summary: 'Has a cell that drains take new responses again.',
  params,
  answers: [json(changedCellSchema)],
  errors,
  handle: ({ params: { cell }, request }, { operator }) => operator.cells.open(cell, askerOf(request)),
});

export const removeCell = actingRoute({
  name: 'removeCell',
  method: 'POST',
  path: '/cells/:cell/remove',
  summary: 'Removes a cell that was added and drained, once no response can live there.',
  params,
  answers: [json(changedCellSchema)],
  errors,
  handle: ({ params: { cell }, request }, { operator }) => operator.cells.remove(cell, askerOf(request)),
});
