import { isObject } from '../json-fields.ts';

/** Makes a vendor's models. */
export type ProviderFactory = (options: Record<string, unknown>) => unknown;

/** The package of a provider cannot be used. Its message is a sentence for the operator that says what to do. */
export class PackageFault extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'PackageFault';
  }
}

/** Imports a package by its name. */
export type ImportPackage = (name: string) => Promise<unknown>;

/**
 * Finds the factory of a package that the operator has installed: the export of that name, or the only function whose name
 * begins with `create`. Several names for one function count once.
 *
 * @throws {PackageFault} when there is no such package or no such export.
 */
export async function loadFactory(
  settings: { package: string; factory?: string | undefined },
  importPackage: ImportPackage = (name) => import(name),
): Promise<ProviderFactory> {
  const { package: name, factory } = settings;
  const exports = await importExports(name, importPackage);
  if (factory !== undefined) {
    const found = exports[factory];
    if (isFactory(found)) return found;
    throw new PackageFault(`The package '${name}' has no function '${factory}'; correct \`factory\`.`);
  }
  const names = Object.keys(exports).filter((each) => /^create[A-Z]/.test(each));
  const found = new Set(names.map((each) => exports[each]).filter(isFactory));
  const [first] = found;
  if (first === undefined) {
    throw new PackageFault(
      `The package '${name}' has no function that begins with 'create'; set \`factory\`.`,
    );
  }
  if (found.size > 1) {
    throw new PackageFault(
      `The package '${name}' has several functions that begin with 'create'; set \`factory\` to one of ${names.join(', ')}.`,
    );
  }
  return first;
}

async function importExports(name: string, importPackage: ImportPackage): Promise<Record<string, unknown>> {
  try {
    const exports = await importPackage(name);
    // The exports of a module are an object without a prototype.
    return isObject(exports) ? exports : {};
  } catch (error) {
    if (isMissing(error, name)) {
      throw new PackageFault(
        `The package '${name}' is not installed. Install it where Sluice is installed: npm install ${name}`,
      );
    }
    throw new PackageFault(`The package '${name}' cannot be loaded: ${firstLine(error)}`, { cause: error });
  }
}

function firstLine(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return (message.split('\n')[0] ?? '').slice(0, 300);
}

/** Whether it is the package itself that is missing, and not something that it needs. */
function isMissing(error: unknown, name: string): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false;
  return error.code === 'ERR_MODULE_NOT_FOUND' && error.message.includes(`'${name}'`);
}

function isFactory(value: unknown): value is ProviderFactory {
  return typeof value === 'function';
}
