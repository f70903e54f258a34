import { isMapping, type Mapping } from './chart-files.ts';
import type { Manifest } from './helm.ts';

/** A class of a package with the schemas of an API group. */
interface Model {
  /** Throws with every fault of the object that it is called on. */
  prototype: { validate: (this: unknown) => void };
}

/** The packages with the schemas of an API group; those of Kubernetes have a package together. */
const packages = new Map([
  ['keda.sh', '@kubernetes-models/keda'],
  ['monitoring.coreos.com', '@kubernetes-models/prometheus-operator'],
]);

/**
 * Holds an object against the schema of its kind, of Kubernetes, KEDA or the Prometheus Operator. Returns every fault with its
 * path, and nothing when there is none.
 *
 * The schemas allow members that they do not know, and an API server drops those without a word. So a member that no schema
 * has looked at is a fault, too.
 */
export async function faultsOf(manifest: Manifest): Promise<string[]> {
  const { apiVersion, kind } = manifest;
  const [group = ''] = apiVersion.split('/');
  const name = `${packages.get(group) ?? 'kubernetes-models'}/${apiVersion}/${kind}`;
  // The module of a kind exports a class of that name.
  const module = (await import(name)) as Record<string, Model>;
  const unseen = new Set<string>();
  const faults: string[] = [];
  try {
    module[kind]?.prototype.validate.call(watched(manifest, '', unseen));
  } catch (error) {
    faults.push(error instanceof Error ? error.message : String(error));
  }
  return [...faults, ...[...unseen].map((path) => `${path} is no member of ${apiVersion} ${kind}`)];
}

/** A copy that takes each member out of `unseen` once somebody asks for it. */
function watched(value: unknown, path: string, unseen: Set<string>): unknown {
  if (Array.isArray(value)) return value.map((item, index) => watched(item, `${path}/${index}`, unseen));
  if (!isMapping(value)) return value;
  const copy: Mapping = {};
  for (const [name, member] of Object.entries(value)) {
    copy[name] = watched(member, `${path}/${name}`, unseen);
    unseen.add(`${path}/${name}`);
  }
  return new Proxy(copy, {
    get(target, name) {
      unseen.delete(`${path}/${String(name)}`);
      return Reflect.get(target, name);
    },
  });
}
