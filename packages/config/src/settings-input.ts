import { formatPath, type Problem } from './config-error.ts';
import { type Environment, outerSettings, readVariable, type Role } from './environment-variables.ts';
import { expandVariables } from './expand-variables.ts';
import type { SettingsFile } from './settings-file.ts';
import { spareSecrets } from './spare-secrets.ts';

/** All that the operator set, in the shape of the file, before it is checked. */
export interface SettingsInput {
  data: unknown;
  /** Whether the value at a path is text only because variables and flags have no other type. */
  isTextByOrigin: (path: readonly PropertyKey[]) => boolean;
  /** Makes a problem that names the place where the setting was given. */
  problemAt: (path: readonly PropertyKey[], message: string) => Problem;
  /** References to the environment that could not be resolved, and their paths below. */
  problems: Problem[];
  faultyPaths: ReadonlySet<string>;
}

interface Layers {
  file: SettingsFile;
  env: Environment;
  flags: ReadonlyMap<string, string>;
  role: Role;
  /** See `SettingsSources`. */
  neededSecrets?: readonly string[] | undefined;
}

/** The model that is served if the operator names none. */
export const simulatorAlone = {
  providers: [
    { id: 'simulator', type: 'simulator' },
    { id: 'simulator-reasoning', type: 'simulator', reasoning: true },
  ],
  models: [
    { id: 'simulator', routes: [{ provider: 'simulator' }] },
    { id: 'simulator-reasoning', routes: [{ provider: 'simulator-reasoning' }] },
  ],
};

/** Merges the sources: flags win over the environment, the environment over the file, the file over the simulator. */
export function gatherInput({ file, env, flags, role, neededSecrets }: Layers): SettingsInput {
  const { data, expandedPaths, faults } = expandVariables(file.data, env);
  const origins = new Map<string, string>();
  if (isMapping(data)) {
    if (data['providers'] === undefined && data['models'] === undefined) Object.assign(data, simulatorAlone);
    for (const { path, variable, flag, role: only } of outerSettings) {
      if (only !== undefined && only !== role) continue;
      const fromFlag = flags.get(flag);
      const value = fromFlag ?? (variable === undefined ? undefined : readVariable(env, variable));
      if (value === undefined || !place(data, path, value)) continue;
      origins.set(formatPath(path), fromFlag === undefined && variable !== undefined ? variable : flag);
    }
  }

  const problemAt = (path: readonly PropertyKey[], message: string): Problem => {
    const origin = origins.get(formatPath(path));
    if (origin !== undefined) return { path: origin, message };
    const line = file.lineOf(path);
    return {
      path: formatPath(path),
      message,
      ...(file.name !== undefined && { file: file.name }),
      ...(line !== undefined && { line }),
    };
  };
  // A bad reference does no harm where a variable or a flag sets the value anyway.
  const unset = faults.filter(({ path }) => !origins.has(formatPath(path)));
  const harmful = neededSecrets === undefined ? unset : spareSecrets(data, unset, neededSecrets);
  return {
    data,
    isTextByOrigin: (path) => origins.has(formatPath(path)) || expandedPaths.has(formatPath(path)),
    problemAt,
    problems: harmful.map(({ path, problem }) => problemAt(path, problem.message)),
    faultyPaths: new Set(harmful.map(({ path }) => formatPath(path))),
  };
}

/** Puts a value into nested mappings. Returns false if another value is in the way, which is reported elsewhere. */
function place(data: Record<string, unknown>, path: readonly string[], value: unknown): boolean {
  const last = path.at(-1);
  let mapping = data;
  for (const key of path.slice(0, -1)) {
    const inner = (mapping[key] ??= {});
    if (!isMapping(inner)) return false;
    mapping = inner;
  }
  if (last !== undefined) mapping[last] = value;
  return last !== undefined;
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
