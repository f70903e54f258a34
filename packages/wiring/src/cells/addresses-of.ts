import type { Cells } from '@sluice/response-store';

/** The addresses of the cells that a process is connected with, as REDIS_URL has them, for what it starts beside itself. */
export function addressesOf(cells: Pick<Cells<{ name: string; url: string }>, 'all'>): string {
  return cells.all.map(({ url }) => url).join(' ');
}
