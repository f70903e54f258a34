import { readdir, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { bornAt, isRunning } from '@sluice/runtime';
import { orNone } from '../absent.ts';
import { Drafts, inTurn, sweepFolder } from '../drafts.ts';

/**
 * The drafts of this process, in a folder of its own among those of others. What a process of this machine left that has ended is taken away before
 * anything new is placed: the disk of a container outlives its process, and has room for what one of them may have under way. What another machine
 * left in a shared folder is swept away after days, since nobody here knows whether it runs. Containers that share one are told apart by the
 * names of their hosts.
 */
export class ProcessDrafts extends Drafts {
  readonly #all: string;
  readonly #own: string;
  #cleared: Promise<void> | undefined;

  constructor(all: string) {
    const own = [hostname(), process.pid, bornAt(process.pid) ?? ''].map(encodeURIComponent).join('@');
    super(join(all, own));
    this.#all = all;
    this.#own = own;
  }

  override async place(): Promise<string> {
    // A folder that cannot be taken away keeps nobody from writing. The sweep says why.
    await (this.#cleared ??= this.#removeEnded().catch(() => undefined));
    return super.place();
  }

  override async sweep(): Promise<void> {
    const sweepOthers = async () =>
      sweepFolder(this.#all, await this.now(), (name) => this.#stateOf(name) === 'runs');
    await inTurn([() => this.#removeEnded(), () => super.sweep(), sweepOthers], (sweep) => sweep());
  }

  async #removeEnded(): Promise<void> {
    await inTurn((await readdir(this.#all).catch(orNone)) ?? [], async (name) => {
      if (this.#stateOf(name) === 'ended') await rm(join(this.#all, name), { recursive: true, force: true });
    });
  }

  /**
   * The state of the process whose folder has this name. The birth in it tells the process from an earlier one with its id, which each one of a
   * container may have.
   */
  #stateOf(name: string): 'runs' | 'ended' | 'unknown' {
    if (name === this.#own) return 'runs';
    const [host, id, birth] = name.split('@');
    if (host !== encodeURIComponent(hostname()) || id === undefined) return 'unknown';
    const born = birth ? decodeURIComponent(birth) : undefined;
    return isRunning({ pid: Number(id), bornAt: born }) ? 'runs' : 'ended';
  }
}
