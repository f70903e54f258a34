import { execFileSync } from 'node:child_process';

export interface ListedProcess {
  pid: number;
  parent: number;
  /** The command line. */
  args: string;
}

/** All descendants of a process. */
export function descendantsOf(pid: number): ListedProcess[] {
  const all = listProcesses();
  const found: ListedProcess[] = [];
  const look = (parent: number) => {
    for (const process of all.filter((each) => each.parent === parent)) {
      found.push(process);
      look(process.pid);
    }
  };
  look(pid);
  return found;
}

/** The processes that still run. A zombie, which has ended, does not count. */
export function stillRunning(processes: readonly ListedProcess[]): ListedProcess[] {
  const alive = new Map(listProcesses().map((process) => [process.pid, process]));
  return processes.filter(({ pid, args }) => alive.get(pid)?.args === args);
}

function listProcesses(): ListedProcess[] {
  const listing = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,stat=,args='], { encoding: 'utf8' });
  return listing.split('\n').flatMap((line) => {
    const [, pid, parent, state, args] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? [];
    if (pid === undefined || args === undefined || state?.startsWith('Z') === true) return [];
    return [{ pid: Number(pid), parent: Number(parent), args }];
  });
}
