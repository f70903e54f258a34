import { FatalError, isRedisUnavailable } from '@sluice/runtime';
import { KeyChangeFailed, type KeyProblem, KeyRefusal } from '@sluice/tenants';
import { refuseRules } from './key-flags.ts';

/** Runs a step on the keys of a service, and says in the words of an operator why it failed. */
export async function orExplain<T>(step: Promise<T>): Promise<T> {
  try {
    return await step;
  } catch (error) {
    if (error instanceof KeyRefusal) throw refused(error.id, error.problem);
    if (error instanceof KeyChangeFailed) throw failed(error);
    if (error instanceof FatalError || !(error instanceof Error)) throw error;
    if (!isRedisUnavailable(error) && !error.message.startsWith('WRONGTYPE')) throw error;
    throw new FatalError(`Redis did not do it: ${error.message}`, { cause: error });
  }
}

function failed(error: KeyChangeFailed): FatalError {
  if (error.reason === 'contended') {
    return new FatalError('Others change keys all the time, so nothing was changed: try again.');
  }
  return new FatalError(
    "Redis does not answer, so nobody knows whether the change was made: 'sluice keys list' shows it later.",
    { cause: error.cause },
  );
}

function refused(id: string, problem: KeyProblem): FatalError {
  switch (problem.kind) {
    case 'rules':
      return refuseRules(problem.problems);
    case 'of_file':
      return new FatalError(
        `${id} is keys[${problem.at}] of ${problem.file ?? 'the settings file'}, which cannot be changed here: in the file, remove it, give it \`disabled: true\`, or add a second key under its name. Every api follows within seconds.`,
      );
    case 'no_keys':
      return new FatalError(
        problem.isInFile
          ? `Every key of '${id}' is in ${problem.file ?? 'the settings file'}, so change its limits there. Every api follows within seconds.`
          : `There is no stored key of a tenant '${id}': 'sluice keys list' shows the tenants.`,
      );
    case 'unreadable':
      return new FatalError(`${id} cannot be read, so every api refuses it already: create a new key.`);
    case 'unknown': {
      // Somebody may have given the key itself, which is not repeated.
      const named = /^(key_|file:)[\w]{0,60}$/.test(id) ? ` '${id}'` : ' of that id';
      return new FatalError(`There is no key${named}: 'sluice keys list' shows the ids.`);
    }
    case 'rotated':
      return new FatalError(`${id} was rotated already: rotate its successor ${problem.successor}.`);
    case 'inactive':
      return new FatalError(`${id} is ${problem.state}, so there is nothing to rotate: create a new key.`);
  }
}
