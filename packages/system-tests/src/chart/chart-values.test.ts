import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import {
  type Mapping,
  mergeValues,
  readChartFile,
  readMapping,
  valuesFiles,
  valuesOfThePage,
} from './chart-files.ts';

// The values and their schema, without helm.
const defaults = parse(readChartFile('values.yaml')) as Mapping;
const schema = JSON.parse(readChartFile('values.schema.json')) as Mapping;
const validate = new Ajv({ allErrors: true, allowUnionTypes: true, strictRequired: false }).compile(schema);

/** The paths and rules that values break, as `/api/replicas type`. */
function broken(values: Mapping): string[] {
  validate(mergeValues(defaults, values));
  return (validate.errors ?? []).map(({ instancePath, keyword, params }) => {
    const unknown = keyword === 'additionalProperties' ? `/${String(params['additionalProperty'])}` : '';
    return `${instancePath}${unknown} ${keyword}`;
  });
}

describe('the values of the chart', () => {
  it('satisfy their schema as they stand', () => {
    expect(broken({})).toEqual([]);
  });

  it.each([...valuesFiles])('satisfy it as %s has them', (_name, path) => {
    expect(broken(readMapping(path))).toEqual([]);
  });

  it('satisfy it as docs/deployment.md has them', () => {
    expect(broken(valuesOfThePage())).toEqual([]);
  });

  it('are all in the schema, and the schema has no other', () => {
    expect(namesOfSchema(schema, schema).toSorted()).toEqual(
      expect.arrayContaining(namesOfValues(defaults).toSorted()),
    );
    for (const name of Object.keys(schema['properties'] as Mapping)) {
      expect(['global', ...Object.keys(defaults)]).toContain(name);
    }
  });
});

/** Bad values, and the path and rule that each is refused with. */
const bad: [values: Mapping, refusal: string][] = [
  [{ replicaCount: 3 }, '/replicaCount additionalProperties'],
  [{ api: { replicas: '3' } }, '/api/replicas type'],
  [{ api: { replicas: -1 } }, '/api/replicas minimum'],
  [{ api: { replicas: 1.5 } }, '/api/replicas type'],
  [{ api: { replica: 3 } }, '/api/replica additionalProperties'],
  [{ api: { service: { port: 70_000 } } }, '/api/service/port maximum'],
  [{ api: { service: { type: 'ExternalName' } } }, '/api/service/type enum'],
  [{ api: { resources: { limits: { memory: '1G' } } } }, '/api/resources/limits/memory pattern'],
  [{ api: { autoscaling: { minReplicas: 0 } } }, '/api/autoscaling/minReplicas minimum'],
  [{ api: { rollingUpdate: { maxSurge: '150%' } } }, '/api/rollingUpdate/maxSurge oneOf'],
  [{ api: { extraEnv: [{ name: 'A-B', value: 'x' }] } }, '/api/extraEnv/0/name pattern'],
  [{ api: { extraEnv: [{ name: 'AB' }] } }, '/api/extraEnv/0 oneOf'],
  [{ api: { podLabels: { tier: 1 } } }, '/api/podLabels/tier type'],
  [{ worker: { concurrency: 0 } }, '/worker/concurrency minimum'],
  [{ worker: { autoscaling: { by: 'memory' } } }, '/worker/autoscaling/by enum'],
  [{ worker: { drainTimeoutMs: '30s' } }, '/worker/drainTimeoutMs type'],
  [{ pools: [{ models: ['a'] }] }, '/pools/0 required'],
  [{ pools: [{ name: 'Large', models: ['a'] }] }, '/pools/0/name pattern'],
  [{ pools: [{ name: 'large', models: [] }] }, '/pools/0/models minItems'],
  [{ pools: [{ name: 'large', models: ['a'], concurency: 2 }] }, '/pools/0/concurency additionalProperties'],
  [{ image: { digest: 'sha256:123' } }, '/image/digest pattern'],
  [{ image: { repository: 'sluice@sha256:1' } }, '/image/repository pattern'],
  [{ image: { repository: 'registry.example.com/sluice:1' } }, '/image/repository pattern'],
  [{ image: { pullPolicy: 'Sometimes' } }, '/image/pullPolicy enum'],
  [{ secret: { from: { REDIS_URL: { name: 'valkey' } } } }, '/secret/from/REDIS_URL required'],
  [{ secret: { from: { 'REDIS-URL': { name: 'valkey', key: 'url' } } } }, '/secret/from propertyNames'],
  [{ settings: { redisUrl: 'redis://valkey' } }, '/settings/redisUrl additionalProperties'],
  [{ settings: { server: { port: 3000 } } }, '/settings/server/port additionalProperties'],
  [{ settings: { server: { adminToken: 'x' } } }, '/settings/server/adminToken additionalProperties'],
  [{ settings: { models: [{ id: 'a' }] } }, '/settings/models/0 required'],
  [{ listenOn: '127.0.0.1' }, '/listenOn enum'],
  [{ logLevel: 'verbose' }, '/logLevel enum'],
  [{ ingress: { hosts: ['https://models.example.com'] } }, '/ingress/hosts/0 pattern'],
  [{ networkPolicy: { adminFrom: [{}] } }, '/networkPolicy/adminFrom/0 minProperties'],
  [{ networkPolicy: { storePorts: [0] } }, '/networkPolicy/storePorts/0 minimum'],
  [{ networkPolicy: { storePorts: [] } }, '/networkPolicy/storePorts minItems'],
  [
    { networkPolicy: { storeTo: [{ namespace: 'x' }] } },
    '/networkPolicy/storeTo/0/namespace additionalProperties',
  ],
];

describe('a bad value', () => {
  it.each(bad)('is refused by its name: %j', (values, refusal) => {
    expect(broken(values)).toContain(refusal);
  });
});

/** The paths of mappings that belong to the operator, whose members the chart does not know. */
const open = /^\/(settings|secret\/(from|values)|.*(annotations|resources|nodeSelector|affinity))(\/|$)/i;

function namesOfValues(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || open.test(path)) return [path];
  const members = Object.entries(value);
  return [path, ...members.flatMap(([name, member]) => namesOfValues(member, `${path}/${name}`))];
}

function namesOfSchema(node: Mapping, root: Mapping, path = ''): string[] {
  const reference = node['$ref'];
  if (typeof reference === 'string') {
    const definitions = root['definitions'] as Record<string, Mapping>;
    return namesOfSchema(definitions[reference.replace('#/definitions/', '')] ?? {}, root, path);
  }
  const members = Object.entries((node['properties'] ?? {}) as Record<string, Mapping>);
  return [path, ...members.flatMap(([name, member]) => namesOfSchema(member, root, `${path}/${name}`))];
}
