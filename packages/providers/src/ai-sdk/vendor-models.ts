import { isObject } from '../json-fields.ts';
import { type ImportPackage, loadFactory, PackageFault } from './load-factory.ts';
import { knownVersions, type LanguageModel } from './specification.ts';

export interface VendorSettings {
  package: string;
  factory?: string | undefined;
  options?: Readonly<Record<string, unknown>> | undefined;
}

/** Finds a model of the vendor by its name there. */
export type FindModel = (model: string) => LanguageModel;

/**
 * Loads the package of a vendor and makes its provider, with our `fetch`.
 *
 * @throws {PackageFault} when the package cannot be used with these settings. No message repeats an option.
 */
export async function loadVendor(
  settings: VendorSettings,
  fetch: unknown,
  importPackage?: ImportPackage,
): Promise<FindModel> {
  const { package: name, options } = settings;
  const factory = await loadFactory(settings, importPackage);
  let provider: unknown;
  try {
    provider = factory({ ...options, fetch });
  } catch (error) {
    throw new PackageFault(`The package '${name}' refuses its \`options\`; correct them.`, { cause: error });
  }
  return (model) => languageModelOf(provider, { name, model });
}

function languageModelOf(provider: unknown, { name, model }: { name: string; model: string }): LanguageModel {
  const maker =
    isCallable(provider) || isObject(provider) ? Reflect.get(provider, 'languageModel') : undefined;
  const make = isCallable(maker) ? maker.bind(provider) : provider;
  if (!isCallable(make)) {
    throw new PackageFault(`The factory of the package '${name}' makes no language models; set \`factory\`.`);
  }
  const made: unknown = make(model);
  if (!isLanguageModel(made)) {
    throw new PackageFault(`The package '${name}' makes no language model that can stream.`);
  }
  if (!knownVersions.includes(made.specificationVersion)) {
    throw new PackageFault(
      `The package '${name}' speaks version ${made.specificationVersion} of the AI SDK's specification. Install a release that speaks one of ${knownVersions.join(', ')}.`,
    );
  }
  return made;
}

function isLanguageModel(value: unknown): value is LanguageModel {
  return (
    isObject(value) &&
    typeof value['specificationVersion'] === 'string' &&
    typeof value['doStream'] === 'function'
  );
}

function isCallable(value: unknown): value is (...args: unknown[]) => unknown {
  return typeof value === 'function';
}
