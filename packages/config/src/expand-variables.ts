import { formatPath, type Problem } from './config-error.ts';
import { type Environment, readVariable } from './environment-variables.ts';

/** The data of the file with its references to the environment replaced. */
export interface ExpandedData {
  data: unknown;
  /** Paths whose text comes from the environment, at least in part. */
  expandedPaths: Set<string>;
  /** The references that could not be resolved. `isUnset` says that it is the variable that is missing. */
  faults: { path: PropertyKey[]; problem: Problem; isUnset: boolean }[];
}

/** Deeper than any setting. Ends the walk in a file with an alias that contains itself. */
const deepest = 32;
const reference = /(\$?)\$\{([^}]*)(\}?)/g;

/**
 * Replaces `${NAME}` in every text value by the environment variable of that name; `$${` stands for `${`.
 * The value of a variable is not expanded again. A variable that is not set, or empty, is a fault that names it.
 */
export function expandVariables(data: unknown, env: Environment): ExpandedData {
  const result: ExpandedData = { data: undefined, expandedPaths: new Set(), faults: [] };
  const walk = (value: unknown, path: PropertyKey[]): unknown => {
    if (typeof value === 'string') return expandText(value, path);
    if (typeof value !== 'object' || value === null) return value;
    if (path.length >= deepest) {
      refuse(path, 'is nested too deeply, or an alias in it holds itself');
      return undefined;
    }
    if (Array.isArray(value)) return value.map((item, index) => walk(item, [...path, index]));
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, walk(item, [...path, key])]));
  };
  const refuse = (path: PropertyKey[], message: string, isUnset = false) => {
    result.faults.push({ path, problem: { path: formatPath(path), message }, isUnset });
  };
  const expandText = (text: string, path: PropertyKey[]): string =>
    text.replace(reference, (whole: string, escape: string, name: string, end: string) => {
      if (escape !== '') return whole.slice(1);
      if (end === '' || !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
        refuse(
          path,
          'has a ${…} that does not hold the name of an environment variable; write $${ to mean ${ itself',
        );
        return whole;
      }
      const value = readVariable(env, name);
      if (value === undefined) {
        refuse(
          path,
          `reads the environment variable ${name}, which is not set; set it or change \${${name}}`,
          true,
        );
        return whole;
      }
      result.expandedPaths.add(formatPath(path));
      return value;
    });
  result.data = walk(data, []);
  return result;
}
