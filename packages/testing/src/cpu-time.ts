import { readFileSync } from 'node:fs';

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

/** Fields are counted after the last bracket, because the name of a process may contain blanks and brackets. */
export function parseCpuTimeMs(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * tickMs;
}
