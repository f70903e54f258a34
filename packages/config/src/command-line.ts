import type { Problem } from './config-error.ts';
import { fileSetting, outerSettings, type Role } from './environment-variables.ts';
import { suggestName } from './nearest-name.ts';
import { defaultOf, nodeAt, settingsTree } from './schema-node.ts';

/** The flags of a command line, and its problems. */
export interface CommandLine {
  values: ReadonlyMap<string, string>;
  problems: Problem[];
}

/** Reads `--flag value` and `--flag=value`; `argv` begins after the name of the command. */
export function readCommandLine(argv: readonly string[], role: Role): CommandLine {
  const known = flagsOf(role);
  const values = new Map<string, string>();
  const problems: Problem[] = [];
  for (let index = 0; index < argv.length; index++) {
    const argument = argv[index] ?? '';
    if (isHelp(argument)) continue;
    const [flag, written] = splitFlag(argument);
    if (!flag.startsWith('-')) {
      // The message does not repeat the argument, which may be a secret whose flag was misspelt.
      problems.push({
        path: `argument ${index + 1}`,
        message: 'is not a flag; remove it or put its flag before it',
      });
      continue;
    }
    if (!known.includes(flag)) {
      problems.push({ path: flag, message: `is not a flag of this command; ${suggestName(flag, known)}` });
      // The next argument is most likely the value of the unknown flag; skipping it keeps one mistake one problem.
      if (written === undefined && !(argv[index + 1] ?? '-').startsWith('-')) index++;
      continue;
    }
    const next = argv[index + 1];
    const value = written ?? (next?.startsWith('--') === true ? undefined : next);
    if (written === undefined && value !== undefined) index++;
    if (value === undefined || value === '') {
      problems.push({ path: flag, message: `needs a value: ${flag}=VALUE` });
    } else if (values.has(flag)) {
      problems.push({ path: flag, message: 'is given twice; keep one' });
    } else {
      values.set(flag, value);
    }
  }
  return { values, problems };
}

/** Whether the command line asks for help. Help is printed even if other arguments are wrong. */
export function wantsHelp(argv: readonly string[]): boolean {
  return argv.some(isHelp);
}

/** The flags of a role as lines of text, for `--help`. */
export function describeFlags(role: Role): string {
  const tree = settingsTree();
  const rows: [flag: string, text: string][] = [
    [
      `${fileSetting.flag} FILE`,
      `${fileSetting.description} [${fileSetting.variable}, ${fileSetting.default}]`,
    ],
  ];
  for (const setting of outerSettings) {
    if (setting.role !== undefined && setting.role !== role) continue;
    const node = nodeAt(tree, setting.path, undefined) ?? {};
    const origin = [setting.variable, defaultOf(node)].filter((part) => part !== undefined).join(', ');
    const unit = node.unit === undefined ? '' : ` (${node.unit})`;
    rows.push([`${setting.flag} VALUE`, `${node.description ?? ''}${unit} [${origin}]`]);
  }
  rows.push(['--help', 'Prints this and ends.']);
  const width = Math.max(...rows.map(([flag]) => flag.length));
  return rows.map(([flag, text]) => `  ${flag.padEnd(width)}  ${text}`).join('\n');
}

function flagsOf(role: Role): string[] {
  const outer = outerSettings.filter((setting) => setting.role === undefined || setting.role === role);
  return [fileSetting.flag, ...outer.map((setting) => setting.flag), '--help'];
}

function isHelp(argument: string): boolean {
  return argument === '--help' || argument === '-h';
}

function splitFlag(argument: string): [flag: string, value: string | undefined] {
  const equals = argument.indexOf('=');
  return equals === -1 ? [argument, undefined] : [argument.slice(0, equals), argument.slice(equals + 1)];
}
