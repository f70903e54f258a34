import { type Environment, readVariable } from './environment-variables.ts';

/**
 * The names of variables that a stored provider may use. Whoever may store a provider chooses where its key is sent, so no other
 * variable of the process can be named.
 */
export const upstreamVariable = /^UPSTREAM_[A-Z0-9_]{1,64}$/;

/** The keys that stored providers may name, by the variables that hold them. An empty variable is not set. */
export type UpstreamKeys = Readonly<Record<string, string>>;

/** Reads every variable that a stored provider may name; undefined when there is none. */
export function readUpstreamKeys(env: Environment): UpstreamKeys | undefined {
  const found = Object.keys(env).flatMap((name): [string, string][] => {
    const value = upstreamVariable.test(name) ? readVariable(env, name) : undefined;
    return value === undefined ? [] : [[name, value]];
  });
  return found.length > 0 ? Object.fromEntries(found) : undefined;
}
