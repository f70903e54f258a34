import { ServiceError } from '@sluice/contract';
import type { ChangedTenant, IssuedKey, RevokedKey, TenantLimitsChange } from '@sluice/contract/admin';
import {
  KeyChangeFailed,
  type KeyProblem,
  KeyRefusal,
  type RuleProblem,
  type Tenants,
} from '@sluice/tenants';

/** A key as it is asked for: whose it is, and its rules as in the settings file. */
export type WantedKey = { tenant: string } & Record<string, unknown>;

/** Members of a key in the settings file that are no rules of one: the service makes the key, and revokes it. */
const noRules = ['name', 'key', 'hash', 'disabled'];

/** Makes, changes and revokes stored keys, as `sluice keys` does. Every api follows within seconds. */
export class StoredKeyChanges {
  readonly #tenants: Tenants;

  constructor(tenants: Tenants) {
    this.#tenants = tenants;
  }

  /** Makes a key. Its text is in the answer and nowhere else. */
  async create({ tenant, ...rules }: WantedKey): Promise<IssuedKey> {
    const unknown = noRules.find((name) => Object.hasOwn(rules, name));
    if (unknown !== undefined) {
      const message = `'${unknown}' cannot be given: the service makes the key, and 'tenant' says whose it is.`;
      throw new ServiceError('unsupported_parameter', message, { param: unknown });
    }
    const made = await orRefuse(this.#tenants.createKey({ ...rules, name: tenant }));
    return { object: 'issued_key', id: made.id, key: made.plain, tenant, is_safe: made.isSafe };
  }

  /** Revokes a key. One that is revoked already stays as it is. */
  async revoke(id: string): Promise<RevokedKey> {
    const { key, isSafe } = await orRefuse(this.#tenants.revokeKey(id));
    return {
      object: 'revoked_key',
      id,
      tenant: key.name,
      revoked_at: Date.parse(key.revokedAt ?? ''),
      is_safe: isSafe,
    };
  }

  /** Changes the weight and the limits of a tenant in all of its stored keys. */
  async limit(tenant: string, { weight, limits = {} }: TenantLimitsChange): Promise<ChangedTenant> {
    const change = { name: tenant, limits, ...(weight !== undefined && { weight }) };
    const { keys, isSafe } = await orRefuse(this.#tenants.changeLimits(change));
    return { object: 'changed_tenant', tenant, keys, is_safe: isSafe };
  }
}

async function orRefuse<T>(step: Promise<T>): Promise<T> {
  try {
    return await step;
  } catch (error) {
    if (error instanceof KeyRefusal) throw refused(error.problem);
    if (error instanceof KeyChangeFailed) throw failed(error);
    throw error;
  }
}

function failed(error: KeyChangeFailed): ServiceError {
  const message =
    error.reason === 'contended'
      ? 'Others change keys all the time, so nothing was changed. Try again.'
      : 'Redis does not answer, so nobody knows whether the change was made. Look at the keys.';
  return new ServiceError('server_is_overloaded', message, { cause: error });
}

function refused(problem: KeyProblem): ServiceError {
  switch (problem.kind) {
    case 'rules':
      return refusedRules(problem.problems);
    case 'of_file':
      return new ServiceError(
        'invalid_value',
        `This is keys[${problem.at}] of the settings file, which cannot be changed here: in the file, remove it, or give it \`disabled: true\`.`,
        { param: 'id' },
      );
    case 'unreadable':
      return new ServiceError(
        'invalid_value',
        'What is stored under this id cannot be read, so every api refuses it already.',
        { param: 'id' },
      );
    case 'no_keys':
      return problem.isInFile
        ? new ServiceError(
            'invalid_value',
            'Every key of this tenant is in the settings file, so change its limits there.',
            { param: 'tenant' },
          )
        : new ServiceError('not_found', 'No stored key is of this tenant.', { param: 'tenant' });
    case 'unknown':
    case 'rotated':
    case 'inactive':
      // Somebody may have given the key itself, which is not repeated.
      return new ServiceError('not_found', 'There is no stored key with this id.', { param: 'id' });
  }
}

/** Every problem in one message, each with the member that it is about; `param` is the first of them. */
function refusedRules(problems: readonly RuleProblem[]): ServiceError {
  const named = problems.map(({ path, message }) => ({ name: memberAt(path), message }));
  const text = named.map(({ name, message }) => `'${name}' ${message}`).join('; ');
  return new ServiceError('invalid_value', /[.?!]$/.test(text) ? text : `${text}.`, {
    param: named[0]?.name ?? null,
  });
}

/** A path as errors of the API write it. The settings call the tenant of a key its name. */
function memberAt(path: readonly PropertyKey[]): string {
  const [first, ...rest] = path;
  const start = first === 'name' || first === undefined ? 'tenant' : String(first);
  return rest.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : `${text}.${String(part)}`),
    start,
  );
}
