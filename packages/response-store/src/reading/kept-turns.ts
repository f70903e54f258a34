import type { InputItem } from '@sluice/contract';
import type { Turn } from './walk.ts';

/** A turn of a conversation with its items: its input, and its output as input of a later one. */
export interface KeptTurn extends Turn {
  tenant: string;
  previousId: string | undefined;
  items: readonly InputItem[];
}

/** A turn takes so many times its bytes of JSON, and so many bytes beside that. */
const copies = 2;
const besidesBytes = 1024;

/** A turn of more bytes of JSON is read each time. */
const mostTurnBytes = 256 * 1024;

/**
 * The turns of conversations that this process has read or ended last, so that a response behind fifty others need not read them
 * all. A turn that has ended never changes, so what is kept is right for as long as the store has its record; whoever uses it asks
 * that. A store that failed over may have other ends of the same responses: `clear` on a connection that was lost.
 *
 * All tenants share the room, and what is used least goes first. A tenant that fills it makes others read from the store.
 */
export class KeptTurns {
  readonly #mostBytes: () => number;
  readonly #turns = new Map<string, KeptTurn>();
  #bytes = 0;

  /** `mostBytes`: of memory; none is kept by default. */
  constructor(mostBytes = () => 0) {
    this.#mostBytes = mostBytes;
  }

  /** About how many bytes of memory they take. */
  get bytes(): number {
    return this.#bytes;
  }

  get isEmpty(): boolean {
    return this.#turns.size === 0;
  }

  /** The turn of a tenant, if it is kept. */
  find(responseId: string, tenant: string): KeptTurn | undefined {
    const turn = this.#turns.get(responseId);
    if (turn?.tenant !== tenant) return undefined;
    this.#turns.delete(responseId);
    this.#turns.set(responseId, turn);
    return turn;
  }

  keep(turn: KeptTurn): void {
    if (turn.inputBytes + turn.endBytes > mostTurnBytes) return;
    this.drop(turn.responseId);
    this.#turns.set(turn.responseId, turn);
    this.#bytes += sizeOf(turn);
    const mostBytes = this.#mostBytes();
    for (const oldest of this.#turns.keys()) {
      if (this.#bytes <= mostBytes) break;
      this.drop(oldest);
    }
  }

  drop(responseId: string): void {
    const turn = this.#turns.get(responseId);
    if (!turn) return;
    this.#turns.delete(responseId);
    this.#bytes -= sizeOf(turn);
  }

  readonly clear = (): void => {
    this.#turns.clear();
    this.#bytes = 0;
  };
}

function sizeOf({ inputBytes, endBytes }: KeptTurn): number {
  return copies * (inputBytes + endBytes) + besidesBytes;
}
