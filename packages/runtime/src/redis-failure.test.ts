import { describe, expect, it } from 'vitest';
import { isOutOfMemory, isRedisUnavailable } from './redis-failure.ts';

/** How Redis 6.2 words an error of a command in a script. */
const inScript = (reply: string) =>
  `ERR Error running script (call to f_0a1b2c): @user_script:1: @user_script: 12: -${reply}`;

describe('whether Redis is unavailable', () => {
  it.each([
    "OOM command not allowed when used memory > 'maxmemory'.",
    "OOM command not allowed when used memory > 'maxmemory'. script: f_0a1b2c, on @user_script:12.",
    "READONLY You can't write against a read only replica.",
    'LOADING Redis is loading the dataset in memory',
    'BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.',
    'MISCONF Redis is configured to save RDB snapshots, but it is currently unable to persist to disk.',
    "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
    'NOREPLICAS Not enough good replicas to write.',
    "NOPERM this user has no permissions to run the 'set' command",
    inScript("OOM command not allowed when used memory > 'maxmemory'."),
    inScript('NOREPLICAS Not enough good replicas to write.'),
    inScript("READONLY You can't write against a read only replica."),
    'ERR Error running script (call to f_0a1b2c): @user_script:12: -MISCONF Errors writing to the AOF file: No space left on device',
    "ERR Error running script (call to f_0a1b2c): @user_script:3: @user_script: 3: The user executing the script can't run this command or subcommand",
    "The user executing the script can't access at least one of the keys mentioned in the command arguments",
    'Command timed out',
  ])('is true of: %s', (message) => {
    expect(isRedisUnavailable(new Error(message))).toBe(true);
  });

  it.each([
    'ERR value is not an integer or out of range',
    'WRONGTYPE Operation against a key holding the wrong kind of value',
    'ERR Error running script (call to f_0a1b2c): @user_script:1: user_script:1: attempt to index a nil value',
    inScript('WRONGTYPE Operation against a key holding the wrong kind of value'),
    'a caller wrote: OOM command not allowed',
  ])('is false of: %s', (message) => {
    expect(isRedisUnavailable(new Error(message))).toBe(false);
  });
});

describe('whether Redis has no memory left', () => {
  const refused = "OOM command not allowed when used memory > 'maxmemory'.";

  it.each([refused, inScript(refused)])('is true of: %s', (message) => {
    expect(isOutOfMemory(new Error(message))).toBe(true);
  });

  it.each([inScript('NOREPLICAS Not enough good replicas to write.'), `a caller wrote: ${refused}`])(
    'is false of: %s',
    (message) => {
      expect(isOutOfMemory(new Error(message))).toBe(false);
    },
  );
});
