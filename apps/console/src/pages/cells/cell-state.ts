import type { CellRow } from '@sluice/contract/admin';
import type { StateWords } from '../../components/tone-badge.tsx';

export const states: Record<CellRow['state'], StateWords> = {
  open: ['good', 'Open', 'It takes new responses'],
  draining: ['warn', 'Draining', 'It takes no new responses, but for those that continue one of its own'],
  opening: ['info', 'Opening', 'It takes new responses in some seconds'],
  joining: ['info', 'Joining', 'It takes new responses ten seconds after every process has reached it'],
  away: ['bad', 'Away', 'Its Redis does not answer'],
  unknown: ['bad', 'No address', 'Responses may be there, and nothing says where it is'],
};

export const origins: Record<NonNullable<CellRow['origin']>, string> = {
  settings: 'REDIS_URL',
  stored: 'added',
};

export type CellAct = 'drain' | 'open' | 'remove';

/** An operator can do so much with a cell; the service refuses some of it. The only cell that takes new responses cannot be drained. */
export function actsOf(row: CellRow, rows: readonly CellRow[]): readonly CellAct[] {
  const { state, origin } = row;
  if (state === 'unknown') return [];
  if (isTaking(row)) return rows.some((each) => each !== row && isTaking(each)) ? ['drain'] : [];
  const remove: readonly CellAct[] = origin === 'stored' ? ['remove'] : [];
  return state === 'joining' ? remove : ['open', ...remove];
}

/** Whether new responses go there, when it answers. One that is away drains if it has a time at which it may go. */
function isTaking({ state, may_go_at: mayGoAt }: CellRow): boolean {
  return state === 'open' || state === 'opening' || (state === 'away' && mayGoAt === null);
}

export interface CellNote {
  tone: 'info' | 'bad';
  text: string;
}

/** A note tells an operator of a cell what its row does not. */
export function noteOf({ cell, state, waits_for: waitsFor }: CellRow): CellNote | undefined {
  if (waitsFor.length > 0) {
    const text = `The cell ${cell} waits to be reached by ${waitsFor.join(', ')}.`;
    return { tone: 'info', text };
  }
  if (state === 'away') {
    const text = `The Redis of the cell ${cell} does not answer. What is there is refused until it is back.`;
    return { tone: 'bad', text };
  }
  if (state === 'unknown') {
    const text = `Responses may be in the cell ${cell}, whose address is not known. Put it into REDIS_URL with the parameter drain, or say that the cell is lost: sluice cells forget ${cell}`;
    return { tone: 'bad', text };
  }
  return undefined;
}
