import { parseArgs, type ParseArgsOptionsConfig } from 'node:util';
import { FatalError } from '@sluice/runtime';

const help = { help: { type: 'boolean', short: 'h' } } as const;

/**
 * The flags and arguments of a command besides the roles, `--help` among them.
 *
 * @throws {FatalError} with exit code 2 for a flag that the command does not have.
 */
export function parseFlags<const Options extends ParseArgsOptionsConfig>(
  command: string,
  argv: readonly string[],
  options: Options,
) {
  try {
    return parseArgs({ args: [...argv], allowPositionals: true, options: { ...options, ...help } });
  } catch (error) {
    throw badUsage(command, error instanceof Error ? error.message : 'the flags are wrong');
  }
}

/**
 * The name in `[list] [NAME]`, for commands that list what they are about; undefined where all are listed.
 *
 * @throws {FatalError} with exit code 2 for more names than one.
 */
export function nameToList(command: string, positionals: readonly string[]): string | undefined {
  const [name, more] = positionals[0] === 'list' ? positionals.slice(1) : positionals;
  if (more !== undefined) throw badUsage(command, `'${more}' is one argument too many`);
  return name;
}

/** The error of a command that was called in a wrong way. */
export function badUsage(command: string, problem: string): FatalError {
  return new FatalError(`${problem}; 'sluice ${command} --help' shows how`, { exitCode: 2 });
}
