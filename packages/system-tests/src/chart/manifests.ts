import { isMapping, type Mapping } from './chart-files.ts';
import type { Manifest } from './helm.ts';

/** A pod of the chart, with its one container. */
export interface Pod {
  /** The last word of its name: `api`, `worker`, `test`, or the name of a pool. */
  role: string;
  name: string;
  annotations: Record<string, string>;
  spec: Mapping;
  container: Mapping;
  /** The variables with a value. */
  env: Map<string, string>;
  /** The variables from a Secret, and where they are in it. */
  secrets: Map<string, SecretKey>;
}

export interface SecretKey {
  name: string;
  key: string;
}

interface Variable {
  name: string;
  value?: string;
  valueFrom?: { secretKeyRef: SecretKey };
}

/** The pods of what was made. Throws for a pod with more than one container, and for a variable that is set twice. */
export function podsOf(manifests: readonly Manifest[]): Pod[] {
  return manifests.flatMap((manifest) => {
    if (manifest.kind !== 'Pod' && manifest.kind !== 'Deployment') return [];
    const { name } = manifest.metadata;
    const { annotations, spec } =
      manifest.kind === 'Pod' ? { annotations: {}, spec: specOf(manifest) } : templateOf(manifest);
    // Checked against the schema of Kubernetes by another test.
    const containers = spec['containers'] as Mapping[];
    const [container = {}] = containers;
    const variables = container['env'] as Variable[];
    if (containers.length !== 1) throw new Error(`${name} has ${containers.length} containers`);
    const env = new Map<string, string>();
    const secrets = new Map<string, SecretKey>();
    for (const each of variables) {
      if (env.has(each.name) || secrets.has(each.name)) throw new Error(`${name} has ${each.name} twice`);
      if (each.value !== undefined) env.set(each.name, each.value);
      if (each.valueFrom !== undefined) secrets.set(each.name, each.valueFrom.secretKeyRef);
    }
    return [{ role: name.split('-').at(-1) ?? name, name, annotations, spec, container, env, secrets }];
  });
}

/** The only pod of a role. */
export function podOf(manifests: readonly Manifest[], role: string): Pod {
  const found = podsOf(manifests).find((pod) => pod.role === role);
  if (found === undefined) throw new Error(`there is no pod of ${role}`);
  return found;
}

/** The only object of a kind whose name has this ending. */
export function one(manifests: readonly Manifest[], kind: string, ending: string): Manifest {
  const found = manifests.filter((each) => each.kind === kind && each.metadata.name.endsWith(ending));
  const [first] = found;
  if (first === undefined || found.length > 1) throw new Error(`${found.length} of ${kind} …${ending}`);
  return first;
}

export function deployments(manifests: readonly Manifest[]): Manifest[] {
  return manifests.filter(({ kind }) => kind === 'Deployment');
}

export function specOf(manifest: Manifest): Mapping {
  return manifest['spec'] as Mapping;
}

/** The pod template of a Deployment. */
export function templateOf(manifest: Manifest) {
  const { metadata, spec } = specOf(manifest)['template'] as {
    metadata: { labels: Record<string, string>; annotations: Record<string, string> };
    spec: Mapping;
  };
  return { ...metadata, spec };
}

/** The labels that an object selects pods by; undefined when it selects none. */
export function selectorOf(manifest: Manifest): Record<string, string> | undefined {
  const { selector, podSelector } = isMapping(manifest['spec']) ? manifest['spec'] : {};
  const found = podSelector ?? selector;
  if (!isMapping(found)) return undefined;
  return (isMapping(found['matchLabels']) ? found['matchLabels'] : found) as Record<string, string>;
}
