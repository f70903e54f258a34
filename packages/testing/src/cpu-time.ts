import { readdirSync, readFileSync } from 'node:fs';

/** The unit of `/proc/<pid>/stat`: USER_HZ, which is 100 on every Linux that Node runs on. */
const tickMs = 10;

/** CPU time of a process and all its threads so far, in milliseconds. Undefined where there is no `/proc`. */
export function cpuTimeMs(pid: number): number | undefined {
  try {
    return parseCpuTimeMs(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return undefined;
  }
}

/** The same with its children and theirs, those that have ended included. */
export function treeCpuTimeMs(pid: number): number | undefined {
  try {
    const fields = fieldsOf(readFileSync(`/proc/${pid}/stat`, 'utf8'));
    const own = [11, 12, 13, 14].reduce((ticks, at) => ticks + Number(fields[at]), 0) * tickMs;
    return childrenOf(pid).reduce((total, child) => total + (treeCpuTimeMs(child) ?? 0), own);
  } catch {
    return undefined;
  }
}

function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
}

export function parseCpuTimeMs(stat: string): number {
  const fields = fieldsOf(stat);
  return (Number(fields[11]) + Number(fields[12])) * tickMs;
}

/** Fields are counted after the last bracket, because the name of a process may contain blanks and brackets. */
function fieldsOf(stat: string): string[] {
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}
