import type { z } from 'zod';
import { readCommandLine } from './command-line.ts';
import { ConfigError, formatPath, type Problem } from './config-error.ts';
import { crossCheck } from './cross-checks.ts';
import type { Environment, Role } from './environment-variables.ts';
import { explainIssue } from './explain-issue.ts';
import { settingsTree, valueAt } from './schema-node.ts';
import { completeSettings, type Settings } from './settings.ts';
import { type ReadFile, readSettingsFile, readTextFile } from './settings-file.ts';
import { gatherInput, type SettingsInput } from './settings-input.ts';
import { settingsSchema } from './settings-schema.ts';
import { readTraceSettings } from './trace-settings.ts';
import { readUpstreamKeys } from './upstream-keys.ts';
import { parsedOnce } from './value-schemas.ts';

/** Where settings come from. */
export interface SettingsSources {
  env: Environment;
  /** The arguments after the command's name; `--help` among them is ignored, see `wantsHelp`. */
  argv: readonly string[];
  /** The folder that the path of the file, and paths in it, are relative to. */
  cwd: string;
  /** The role of the process; `start` by default. `api` and `worker` need a Redis address. */
  role?: Role;
  /** Reads the file as text; from disk by default. */
  readFile?: ReadFile;
  /**
   * The paths of the secrets that the caller needs, such as `usage.databaseUrl`; all by default. Any other whose variable is not set is absent, or is
   * a text that stands in for it and is of no use.
   */
  neededSecrets?: readonly string[];
}

/**
 * Reads the flags, the environment and the operator's file, in this order of precedence, and checks them.
 *
 * Writes nothing and keeps no plain API key of a tenant. Throws one `ConfigError` with every problem it finds, none of
 * which repeats a secret. Problems inside a file that is not valid YAML cannot be found.
 */
export function loadSettings(sources: SettingsSources): Settings {
  const { env, argv, cwd, role = 'start', readFile = readTextFile, neededSecrets } = sources;
  const commandLine = readCommandLine(argv, role);
  const file = readSettingsFile({ env, flags: commandLine.values, cwd, readFile });
  const problems = [...commandLine.problems, ...file.problems];
  // Without the data of the file, every setting in it would be reported as missing.
  if (file.data === undefined) throw new ConfigError(problems);

  const input = gatherInput({ file, env, flags: commandLine.values, role, neededSecrets });
  problems.push(...input.problems);
  const { parsed, found } = check(input, role);
  const { traces, problems: ofTraces } = readTraceSettings(env);
  problems.push(...found, ...ofTraces);
  if (parsed === undefined || problems.length > 0) throw new ConfigError(problems);
  const upstreamKeys = readUpstreamKeys(env);
  return {
    ...completeSettings(parsed, cwd, file.name),
    ...(file.isBlank && { isFileBlank: true }),
    ...(upstreamKeys && { upstreamKeys }),
    ...(traces && { traces }),
  };
}

function check(input: SettingsInput, role: Role) {
  let result = settingsSchema.safeParse(input.data, parsedOnce);
  const seen = new Set(input.faultyPaths);
  const found: Problem[] = [];
  if (result.error !== undefined && convertText(input, result.error.issues)) {
    result = settingsSchema.safeParse(input.data, parsedOnce);
  }
  if (result.error !== undefined) {
    const tree = settingsTree();
    for (const { path, message } of result.error.issues.flatMap((issue) =>
      explainIssue(issue, input.data, tree),
    )) {
      // One mistake can break several rules of the schema; reporting the first is enough.
      if (seen.has(formatPath(path))) continue;
      seen.add(formatPath(path));
      found.push(input.problemAt(path, message));
    }
  }
  for (const { path, message } of crossCheck(input.data, role)) {
    if (!seen.has(formatPath(path))) found.push(input.problemAt(path, message));
  }
  return { parsed: result.data, found };
}

/** Converts text of the environment and flags to a number or a boolean where the schema demands one. */
function convertText({ data, isTextByOrigin }: SettingsInput, issues: readonly z.core.$ZodIssue[]): boolean {
  let converted = false;
  for (const issue of issues) {
    if (issue.code !== 'invalid_type') continue;
    const { path, expected } = issue;
    const key = path.at(-1);
    const owner = valueAt(path.slice(0, -1), data);
    const text = valueAt(path, data);
    if (key === undefined || typeof owner !== 'object' || owner === null) continue;
    if (typeof text !== 'string' || !isTextByOrigin(path)) continue;
    const value = readAs(expected, text);
    if (value !== undefined) converted = Reflect.set(owner, key, value) || converted;
  }
  return converted;
}

function readAs(type: string, text: string): number | boolean | undefined {
  if ((type === 'int' || type === 'number') && /^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return undefined;
}
