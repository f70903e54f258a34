import { LiveCells } from '@sluice/response-store';
import { eventually } from '@sluice/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { CellMemories } from './cell-memories.ts';

type ApiCells = ConstructorParameters<typeof CellMemories>[0];

let memories: CellMemories | undefined;
afterEach(() => memories?.stop());

function cellWith(name: string, usedBytes: number): ApiCells['first'] {
  const info = () => Promise.resolve(`used_memory:${usedBytes}\r\nmaxmemory:100\r\n`);
  return { name, clients: { commands: { status: 'ready', info } } } as unknown as ApiCells['first'];
}

describe('the memory of the cells', () => {
  it('is told of each, so that a full one shows beside others that have room', async () => {
    const cells = new LiveCells(cellWith('0', 10), [cellWith('1', 90)]);
    memories = new CellMemories(cells, (error) => expect.unreachable(String(error)));
    expect(memories.byCell.map(({ used }) => used)).toEqual([undefined, undefined]);
    memories.start();
    await eventually(() => memories?.byCell.every(({ used }) => used !== undefined) ?? false);
    expect(memories.byCell).toEqual([
      { cell: '0', used: { usedBytes: 10, limitBytes: 100 } },
      { cell: '1', used: { usedBytes: 90, limitBytes: 100 } },
    ]);
    expect(memories.usedPercent).toBe(90);
  });
});
