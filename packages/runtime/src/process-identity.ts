import { readFileSync } from 'node:fs';
import { errorCode } from './fatal-error.ts';

/** A process of this machine, told from a later one with the same id. */
export interface ProcessIdentity {
  pid: number;
  /** Undefined where the system does not report it, or did not when it was asked. */
  bornAt?: string | undefined;
}

/**
 * Whether this very process runs. One whose id is taken counts as running unless that process was born at another time. A caller without a
 * descriptor cannot find that out, nor one to whom processes of others are hidden, who knows of the boot alone. Processes of other containers or machines count as ended.
 */
export function isRunning({ pid, bornAt: born }: ProcessIdentity): boolean {
  if (!isAlive(pid)) return false;
  if (born === undefined) return true;
  const boot = bootId();
  if (boot !== undefined && !born.startsWith(`${boot} `)) return false;
  return born === (bornAt(pid) ?? born);
}

/** Whether a process with this id runs. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    if (errorCode(error) !== 'EPERM') return false;
  }
  // In a container without an init process, an orphan that has ended stays listed as a zombie.
  return statFields(pid)?.[STATE] !== 'Z';
}

/** Boot and start time of a process, from Linux's /proc; undefined elsewhere, and where that cannot be read. */
export function bornAt(pid: number): string | undefined {
  const boot = bootId();
  const startedAt = statFields(pid)?.[START_TIME];
  return boot === undefined || startedAt === undefined ? undefined : `${boot} ${startedAt}`;
}

function bootId(): string | undefined {
  return readIfThere('/proc/sys/kernel/random/boot_id')?.trim();
}

/** Indices of fields in `/proc/<pid>/stat`, counted from after the name. */
const STATE = 0;
const START_TIME = 19;

function statFields(pid: number): string[] | undefined {
  const stat = readIfThere(`/proc/${pid}/stat`);
  // The name, in parentheses, may itself contain spaces and parentheses.
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
