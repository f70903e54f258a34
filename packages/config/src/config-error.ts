/** One problem of the configuration. It holds no value of a setting, because a value may be a secret. */
export interface Problem {
  /** Where: a path in the file (`models[0].id`), an environment variable (`PORT`) or a flag (`--port`). */
  path: string;
  /** Says what is wrong and what to change. */
  message: string;
  file?: string;
  /** Line in `file`, from 1. */
  line?: number;
}

/**
 * The configuration cannot be used. The error lists every problem that was found. The process ends with `exitCode`; a
 * restart without a change gives the same error.
 */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly code = 'bad_configuration';
  readonly exitCode = 2;
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(describeProblems(problems));
    this.problems = problems;
  }
}

/** Formats a path as in the file: `keys[1].limits.queued`. */
export function formatPath(path: readonly PropertyKey[]): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else text += `${text === '' ? '' : '.'}${String(part)}`;
  }
  return text;
}

function describeProblems(problems: readonly Problem[]): string {
  const [first] = problems;
  if (first !== undefined && problems.length === 1) return `bad configuration: ${describeProblem(first)}`;
  return [
    `bad configuration, ${problems.length} problems:`,
    ...problems.map((problem) => `  ${describeProblem(problem)}`),
  ].join('\n');
}

/** One line: the path, what is wrong, the file and the line. */
export function describeProblem({ path, message, file, line }: Problem): string {
  const text = path === '' ? message : `${path}: ${message}`;
  if (file === undefined) return text;
  return `${text} (${file}${line === undefined ? '' : `:${line}`})`;
}
