import { isPrivateHost } from '@sluice/contract';
import { describe, expect, it } from 'vitest';
import { type Mapping, valuesFiles, valuesOfThePage } from './chart-files.ts';
import { hasHelm, lintChart, type Manifest, refusalOf, release, renderChart } from './helm.ts';
import { readRules } from '../observe/observe-files.ts';
import { faultsOf } from './kubernetes-schemas.ts';
import { deployments, one, podOf, podsOf, selectorOf, specOf, templateOf } from './manifests.ts';

const rendered = new Map<string, Manifest[]>();

/** What a file of values makes, with further values. Each is rendered once, so nobody may change it. */
function render(name: string, values: Mapping = {}): Manifest[] {
  const id = JSON.stringify([name, values]);
  const manifests = rendered.get(id) ?? renderChart({ files: [fileOf(name)], values });
  rendered.set(id, manifests);
  return manifests;
}

const needed = { image: { repository: 'registry.example.com/sluice' }, secret: { existing: 'sluice' } };

describe.skipIf(!hasHelm)('the chart (needs helm)', () => {
  it.each([...valuesFiles.keys()])('is made without a fault of %s', async (name) => {
    expect(lintChart({ files: [fileOf(name)] })).toBe('');
    const manifests = render(name);
    expect(manifests.length).toBeGreaterThanOrEqual(8);
    for (const manifest of manifests) expect(await faultsOf(manifest), manifest.metadata.name).toEqual([]);
    const names = manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(new Set(names).size).toBe(names.length);
  });

  it('is made of the values in docs/deployment.md', async () => {
    const manifests = renderChart({ values: valuesOfThePage() });
    for (const manifest of manifests) expect(await faultsOf(manifest), manifest.metadata.name).toEqual([]);
    expect(deployments(manifests).map(({ metadata }) => metadata.name)).toEqual([
      ...['prod-sluice-api', 'prod-sluice-worker-large', 'prod-sluice-worker-small'],
    ]);
  });

  it('has nothing that a kubelet would expand in the arguments of a pod', () => {
    for (const { container } of podsOf(render('smallest')))
      expect(String(container['args'])).not.toContain('$(');
  });

  it('finds a member that Kubernetes does not know, and a value of the wrong kind', async () => {
    const manifest = structuredClone(one(render('smallest'), 'Deployment', 'api'));
    manifest['spec'] = { ...specOf(manifest), replica: 2, replicas: 'two' };
    expect((await faultsOf(manifest)).join('\n')).toMatch(
      /replicas must be integer[\s\S]*\/spec\/replica is no member/,
    );
  });

  describe('in every pod', () => {
    const pods = hasHelm ? [...valuesFiles.keys()].flatMap((name) => podsOf(render(name))) : [];

    it.each(pods)('$name runs as nobody in particular', ({ spec, container }) => {
      expect(spec).toMatchObject({ automountServiceAccountToken: false, enableServiceLinks: false });
      expect(spec['securityContext']).toMatchObject({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      expect(container['securityContext']).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        runAsNonRoot: true,
        runAsUser: 1000,
        runAsGroup: 1000,
        capabilities: { drop: ['ALL'] },
        seccompProfile: { type: 'RuntimeDefault' },
      });
      expect(container['resources']).toMatchObject({ limits: { memory: expect.any(String) } });
    });

    it.each(pods.filter(({ role }) => role !== 'test'))(
      '$name has time to drain before it is killed',
      (pod) => {
        const preStop = /"seconds":(\d+)/.exec(JSON.stringify(pod.container['lifecycle'] ?? {}))?.[1] ?? 0;
        const drainMs = Number(pod.env.get('DRAIN_TIMEOUT_MS'));
        expect(drainMs).toBeGreaterThan(0);
        // A process that has drained may take five seconds more to say what still holds it open.
        expect(Number(pod.spec['terminationGracePeriodSeconds']) * 1000).toBeGreaterThanOrEqual(
          Number(preStop) * 1000 + drainMs + 5000,
        );
      },
    );

    it.each(pods)('$name has no secret in clear', ({ container, role }) => {
      for (const { name, value } of container['env'] as { name: string; value?: string }[]) {
        if (/(TOKEN|KEY|REDIS_URL)$/.test(name)) expect(value, `${role} ${name}`).toBeUndefined();
      }
    });
  });

  it('takes its image by the version of the chart, by a tag, or by a digest', () => {
    const image = (values: Mapping) =>
      podsOf(renderChart({ values: { ...needed, ...values } })).map(({ container }) => container['image']);
    const repository = 'registry.example.com/sluice';
    expect(new Set(image({}))).toEqual(new Set([`${repository}:0.1.0`]));
    expect(new Set(image({ image: { repository, tag: '1.2.3' } }))).toEqual(new Set([`${repository}:1.2.3`]));
    const digest = `sha256:${'a'.repeat(64)}`;
    expect(new Set(image({ image: { repository, tag: '1', digest } }))).toEqual(
      new Set([`${repository}@${digest}`]),
    );
  });

  it('leaves three quarters of the memory limit to the heap', () => {
    const options = (memory: string) =>
      podOf(
        renderChart({ values: { ...needed, api: { resources: { limits: { memory } } } } }),
        'api',
      ).env.get('NODE_OPTIONS');
    expect(options('1Gi')).toBe('--max-old-space-size=768');
    expect(options('1500Mi')).toBe('--max-old-space-size=1125');
    expect(podOf(render('own-files'), 'small').env.get('NODE_OPTIONS')).toBe('--max-old-space-size=600');
  });

  describe('secrets', () => {
    it('reach only the pods whose settings need them', () => {
      const manifests = render('pools');
      const of = (role: string) => [...podOf(manifests, role).secrets.keys()].toSorted();
      const all = ['ADMIN_TOKEN', 'ENCRYPTION_KEY', 'REDIS_URL', 'SPARE_TOKEN', 'VLLM_API_KEY'];
      expect(of('api')).toEqual([...all, 'ADMIN_ACTION_TOKEN', 'TEAM_A_KEY'].toSorted());
      expect(of('large')).toEqual(all);
      expect(of('trial')).toEqual(['ADMIN_TOKEN', 'ENCRYPTION_KEY', 'REDIS_URL']);
      expect(podOf(manifests, 'api').secrets.get('REDIS_URL')).toEqual({
        name: 'valkey-credentials',
        key: 'url',
      });
      expect(podOf(manifests, 'api').secrets.get('TEAM_A_KEY')).toEqual({
        name: 'sluice',
        key: 'TEAM_A_KEY',
      });
    });

    it('are no variable where the settings escape one', () => {
      const values = { ...needed, settings: { models: [], keyPrefix: '$${NOT_READ}${READ}' } };
      const { secrets } = podOf(renderChart({ values }), 'worker');
      expect([...secrets.keys()].toSorted()).toEqual(['ADMIN_TOKEN', 'READ', 'REDIS_URL']);
    });

    it('come from extraEnv where that has them', () => {
      const api = { extraEnv: [{ name: 'SLUICE_API_KEY', value: 'sk-in-clear-because-i-said-so' }] };
      const pod = podOf(renderChart({ values: { ...needed, api } }), 'api');
      expect(pod.secrets.has('SLUICE_API_KEY')).toBe(false);
      expect(pod.env.get('SLUICE_API_KEY')).toBe('sk-in-clear-because-i-said-so');
    });

    it('are made only when that is asked for', () => {
      expect(render('smallest').some(({ kind }) => kind === 'Secret')).toBe(false);
      expect(one(render('trying'), 'Secret', 'sluice')['stringData']).toMatchObject({
        REDIS_URL: 'redis://valkey:6379',
      });
    });
  });

  describe('the test of the release', () => {
    const asked = (values: Mapping) => {
      const { env, secrets } = podOf(renderChart({ values: { ...needed, ...values } }), 'test');
      return [env.get('SLUICE_MODEL'), secrets.get('SLUICE_API_KEY')?.key];
    };
    const local = { providers: [{ id: 'local', type: 'simulator' }] };
    const models = ['a', 'b'].map((id) => ({ id, routes: [{ provider: 'local' }] }));

    it('asks a simulator, with a key that may', () => {
      expect(asked({})).toEqual(['simulator', 'SLUICE_API_KEY']);
      const keys = [
        { name: 'x', hash: 'sha256:0' },
        { name: 'y', key: '${Y}', models: ['b'] },
        { name: 'z', key: '${Z}', models: ['a'] },
      ];
      expect(asked({ settings: { ...local, models, keys } })).toEqual(['a', 'Z']);
      expect(asked({ settings: { ...local, models, keys }, test: { model: 'b' } })).toEqual(['b', 'Y']);
    });

    it('asks no model that costs something, and none without a key', () => {
      const vllm = { providers: [{ id: 'local', type: 'openai-chat', baseUrl: 'http://vllm:8000/v1' }] };
      expect(asked({ settings: { ...vllm, models } })).toEqual([undefined, undefined]);
      expect(asked({ settings: { keys: [{ name: 'x', hash: 'sha256:0' }] } })).toEqual([
        undefined,
        undefined,
      ]);
    });
  });

  it('takes nothing and no for an answer from a pool', () => {
    const pool = {
      ...{ name: 'idle', models: ['simulator'], replicas: 0, extraEnv: [], spreadOver: [] },
      disruptionBudget: { enabled: false },
      rollingUpdate: { maxUnavailable: 0, maxSurge: 1 },
    };
    const settings = {
      providers: [{ id: 'local', type: 'simulator' }],
      models: [{ id: 'simulator', routes: [{ provider: 'local' }] }],
    };
    const worker = {
      replicas: 3,
      extraEnv: [{ name: 'TZ', value: 'UTC' }],
      rollingUpdate: { maxUnavailable: 1 },
    };
    const manifests = renderChart({ values: { ...needed, settings, worker, pools: [pool] } });
    expect(specOf(one(manifests, 'Deployment', 'idle'))).toMatchObject({
      replicas: 0,
      strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
    });
    expect(podOf(manifests, 'idle').env.has('TZ')).toBe(false);
    expect(podOf(manifests, 'idle').spec['topologySpreadConstraints']).toBeUndefined();
    expect(
      manifests.some(({ kind, metadata }) => kind === 'PodDisruptionBudget' && /worker/.test(metadata.name)),
    ).toBe(false);
  });

  describe('settings', () => {
    const filesOf = (values: Mapping = {}) => {
      const { data } = one(render('pools', values), 'ConfigMap', 'settings');
      return new Map(Object.entries(data as Record<string, string>));
    };

    it('are whole for the apis, and without keys and without models of others for a pool', () => {
      const files = filesOf();
      expect([...files.keys()].toSorted()).toEqual([
        'api.yaml',
        ...['worker-large.yaml', 'worker-small.yaml', 'worker-trial.yaml'],
      ]);
      expect(files.get('api.yaml')).toMatch(/TEAM_A_KEY[\s\S]*id: qwen3-8b/);
      expect(files.get('worker-large.yaml')).not.toMatch(/keys:|TEAM_A|qwen3-8b|id: simulator/);
      expect(files.get('worker-large.yaml')).toMatch(/id: Qwen\/Qwen3-72B[\s\S]*id: qwen3-72b/);
      // A large number stays one, and is not written as 4.294967296e+09.
      expect(files.get('api.yaml')).toMatch(/queuedBytes: 4294967296$/m);
    });

    const stamps = (values: Mapping) =>
      podsOf(render('pools', values)).map(
        ({ name, annotations }) => `${name} ${annotations['sluice/settings']}`,
      );
    const changed = (values: Mapping) =>
      stamps(values)
        .filter((stamp) => !stamps({}).includes(stamp))
        .map((stamp) => stamp.split(' ')[0]);

    it('restart what reads what has changed', () => {
      expect(changed({ settings: { timeouts: { totalMs: 1000 } } })).toHaveLength(4);
      expect(changed({ settings: { limits: { outputBytes: 4096 } } })).toHaveLength(4);
    });

    it('restart nothing for models and providers, which running processes take up', () => {
      const simulators = { providers: [{ id: 'simulator', type: 'simulator' }] };
      expect(changed({ settings: simulators })).toEqual([]);
    });

    it('restart no api for keys and limits that it takes up by itself, and no worker for keys', () => {
      expect(changed({ settings: { keys: [{ name: 'team-c', hash: `sha256:${'0'.repeat(64)}` }] } })).toEqual(
        [],
      );
      expect(changed({ settings: { limits: { queued: 7 } } })).not.toContain('prod-sluice-api');
    });

    it('of a pool may be of another kind than those of the apis', () => {
      const pools = [{ name: 'large', models: ['a'], existingSettings: { configMap: 'of-large' } }];
      const manifests = renderChart({
        values: { ...needed, existingSettings: { secret: 'of-apis' }, pools },
      });
      const volume = (role: string) => JSON.stringify(podOf(manifests, role).spec['volumes']);
      expect(volume('api')).toContain('"secretName":"of-apis"');
      expect(volume('large')).toContain('"configMap":{"name":"of-large"');
    });

    it('are mounted as a folder, from a file of the operator where there is one', () => {
      const volume = (role: string) =>
        (podOf(render('own-files'), role).spec['volumes'] as Mapping[]).find(
          ({ name }) => name === 'settings',
        );
      const items = (key: string) => [{ key, path: 'settings.yaml' }];
      expect(volume('api')).toMatchObject({
        secret: { secretName: 'sluice-settings', items: items('api.yaml') },
      });
      expect(volume('large')).toMatchObject({ secret: { items: items('large.yaml') } });
      expect(render('own-files').some(({ kind }) => kind === 'ConfigMap')).toBe(false);
      for (const { container } of podsOf(render('own-files')).filter(({ role }) => role !== 'test')) {
        expect(container['volumeMounts']).toContainEqual({
          ...{ name: 'settings', mountPath: '/etc/sluice', readOnly: true },
        });
      }
    });
  });

  describe('autoscalers', () => {
    const urls = (name: string, pool: string) => {
      const { spec } = one(render(name), 'ScaledObject', pool);
      return ((spec as Mapping)['triggers'] as { metadata: { url: string } }[]).map(
        ({ metadata }) => metadata.url,
      );
    };

    it('ask about each model of a pool, with the slots of its workers', () => {
      const scale = `http://prod-sluice-admin.${release.namespace}.svc:3001/scale`;
      expect(urls('pools', 'large')).toEqual([
        `${scale}?slots=4&model=Qwen%2FQwen3-72B`,
        `${scale}?slots=4&model=qwen3-72b`,
      ]);
      expect(urls('pools', 'small')).toEqual([`${scale}?slots=32&model=qwen3-8b`]);
    });

    it('ask about all models where all workers are alike', () => {
      const values = {
        ...needed,
        worker: { autoscaling: { by: 'keda' } },
        networkPolicy: { enabled: false },
      };
      const { spec } = one(renderChart({ values }), 'ScaledObject', 'worker');
      expect(JSON.stringify(spec)).toContain(`.svc:3001/scale?slots=32"`);
    });

    it('carry the admin token, from where the pods have it', () => {
      const { spec } = one(render('pools'), 'TriggerAuthentication', 'admin-token');
      const secretTargetRef = [{ parameter: 'token', name: 'sluice', key: 'ADMIN_TOKEN' }];
      expect(spec).toEqual({ secretTargetRef });
    });

    it('are alone in saying how many there are', () => {
      const replicas = (name: string) =>
        new Map(
          deployments(render(name)).map(({ metadata, spec }) => [
            metadata.name,
            (spec as Mapping)['replicas'],
          ]),
        );
      expect([...replicas('pools').values()]).toEqual([undefined, undefined, undefined, undefined]);
      expect(replicas('smallest')).toEqual(
        new Map([
          ['prod-sluice-api', 2],
          ['prod-sluice-worker', 2],
        ]),
      );
    });
  });

  describe('the network', () => {
    const rules = (manifests: Manifest[], role: string) =>
      one(manifests, 'NetworkPolicy', role)['spec'] as { ingress: Rule[]; egress: Rule[] };
    interface Rule {
      ports?: { port: number }[];
      from?: unknown[];
      to?: unknown[];
    }
    const portsOf = (list: Rule[]) => list.map(({ ports = [] }) => ports.map(({ port }) => port));

    it('lets everybody reach the API and nobody the rest, until they are named', () => {
      const manifests = render('smallest');
      expect(rules(manifests, 'api').ingress).toEqual([{ ports: [{ protocol: 'TCP', port: 3000 }] }]);
      expect(rules(manifests, 'worker').ingress).toEqual([]);
      const named = render('pools');
      expect(portsOf(rules(named, 'api').ingress)).toEqual([[3000], [3001]]);
      expect(rules(named, 'api').ingress[1]?.from).toHaveLength(2);
      expect(portsOf(rules(named, 'worker').ingress)).toEqual([[3002]]);
    });

    it('lets an api call names, the store and webhooks, and a worker its models besides', () => {
      const manifests = render('smallest');
      expect(portsOf(rules(manifests, 'api').egress)).toEqual([[53, 53], [6379], [443]]);
      expect(rules(manifests, 'worker').egress).toEqual([...rules(manifests, 'api').egress, {}]);
      const named = rules(render('pools'), 'worker').egress;
      expect(portsOf(named)).toEqual([[53, 53], [6380, 26_379], [443], [4318], [8000, 443]]);
      expect(named[1]?.to).toEqual([{ ipBlock: { cidr: '10.20.0.0/24' } }]);
    });

    it('lets webhooks go where the service lets them go', () => {
      const [, , webhooks] = rules(render('smallest'), 'api').egress;
      const blocks = (webhooks?.to ?? []) as { ipBlock: { cidr: string; except: string[] } }[];
      expect(blocks.map(({ ipBlock }) => ipBlock.cidr)).toEqual(['0.0.0.0/0', '2000::/3']);
      const closed = blocks.flatMap(({ ipBlock }) => ipBlock.except.map((each) => each.split('/')[0] ?? ''));
      for (const address of closed) {
        expect(isPrivateHost(address.includes(':') ? `[${address}]` : address), address).toBe(true);
      }
      const egressWith = (settings: Mapping) =>
        portsOf(rules(render('smallest', { settings: { webhooks: settings } }), 'api').egress).slice(2);
      expect(egressWith({ enabled: false })).toEqual([]);
      expect(egressWith({ enabled: true, allowPrivateNetworks: true })).toEqual([[443, 80]]);
    });

    it('publishes the API alone', () => {
      const ingress = JSON.stringify(one(render('pools'), 'Ingress', 'api'));
      expect(ingress).toContain('"name":"prod-sluice-api","port":{"name":"http"}');
      expect(ingress).not.toMatch(/admin/);
      const admin = one(render('pools', { api: { service: { type: 'LoadBalancer' } } }), 'Service', 'admin');
      expect(admin['spec']).toMatchObject({ type: 'ClusterIP' });
    });
  });

  it('has Prometheus name the jobs as the alerts do, whatever the release is called', () => {
    const manifests = render('pools', { nameOverride: 'llm' });
    const jobs = [
      ...relabelings(one(manifests, 'ServiceMonitor', 'api'), 'endpoints'),
      ...relabelings(one(manifests, 'PodMonitor', 'worker'), 'podMetricsEndpoints'),
    ];
    expect(jobs).toEqual([
      { targetLabel: 'job', replacement: 'sluice-api' },
      { targetLabel: 'job', replacement: 'sluice-worker' },
    ]);
    const down = readRules().find(({ alert }) => alert === 'SluiceProcessDown')?.expr ?? '';
    const asked = new RegExp(`^(${/job=~"(.*)"/.exec(down)?.[1]})$`);
    for (const { replacement } of jobs) expect(replacement).toMatch(asked);
  });

  it('selects the pods of each part and of no other', () => {
    for (const name of valuesFiles.keys()) {
      const manifests = render(name);
      const pods = deployments(manifests).map((owner) => ({ owner, labels: templateOf(owner).labels }));
      for (const manifest of manifests) {
        const selector = selectorOf(manifest);
        if (selector === undefined || manifest.kind === 'ServiceMonitor') continue;
        const hit = pods.filter(({ labels }) =>
          Object.entries(selector).every(([key, value]) => labels[key] === value),
        );
        expect(hit.length, `${manifest.kind} ${manifest.metadata.name}`).toBeGreaterThan(0);
        if (['Deployment', 'PodDisruptionBudget'].includes(manifest.kind)) {
          expect(hit.map(({ owner }) => owner.metadata.name)).toEqual([manifest.metadata.name]);
        }
      }
    }
  });

  it.each<[what: string, values: Mapping]>([
    ['elsewhere', { settings: { files: { enabled: true, bucket: { name: 'files' } } } }],
    [
      'elsewhere, on a disk that just holds them before',
      {
        settings: { files: { enabled: true, bucket: { name: 'files' }, bytes: 5_368_709_120 } },
        api: { tmpSize: '38976Mi' },
      },
    ],
    ['in a folder of its own', { settings: { files: { enabled: true, folder: '/files' } } }],
    ['in a Postgres', { settings: { usage: { enabled: true, databaseUrl: '${DATABASE_URL}' } } }],
    ['nowhere', { settings: { usage: { enabled: false }, files: { enabled: false } } }],
    [
      'in a volume',
      {
        settings: { usage: { enabled: true }, files: { enabled: true } },
        api: {
          replicas: 1,
          extraVolumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
          extraVolumeMounts: [{ name: 'data', mountPath: '/tmp/sluice' }],
        },
      },
    ],
  ])('takes files and usage that are kept %s', (_where, values) => {
    expect(renderChart({ files: [fileOf('smallest')], values })).not.toEqual([]);
  });

  it('takes secrets that are read from the environment, and what is none', () => {
    const settings = {
      encryptionKeys: ['${SEAL}'],
      keys: [{ name: 'a', hash: `sha256:${'0'.repeat(64)}` }],
      providers: [
        {
          ...{ id: 'house', type: 'openai-chat', baseUrl: 'http://house:8000/v1', apiKey: '${HOUSE_KEY}' },
          headers: { authorization: 'Bearer ${HOUSE_TOKEN}', 'X-Title': 'ours' },
          maxTokensField: 'max_tokens',
        },
        {
          ...{ id: 'vendor', type: 'ai-sdk', package: '@ai-sdk/anthropic' },
          options: { apiKey: '${VENDOR_KEY}', baseURL: 'https://vendor:443/v1?at=a:b@c', maxTokens: 5 },
        },
      ],
      models: [{ id: 'm', routes: [{ provider: 'house' }, { provider: 'vendor' }] }],
      files: {
        ...{ enabled: true },
        bucket: { name: 'ours', accessKeyId: 'AKIA', secretAccessKey: '${S3_SECRET}' },
      },
      usage: { enabled: true, databaseUrl: 'postgres://sluice:${DB_PASSWORD}@db:5432/sluice' },
    };
    const manifests = renderChart({ files: [fileOf('smallest')], values: { settings } });
    const text = JSON.stringify(manifests);
    for (const name of ['SEAL', 'HOUSE_TOKEN', 'VENDOR_KEY', 'S3_SECRET', 'DB_PASSWORD']) {
      expect(text).toContain(`"key":"${name}"`);
    }
    for (const databaseUrl of ['postgres://db/sluice', 'postgres://sluice@db', '${DATABASE_URL}']) {
      const usage = { enabled: true, databaseUrl };
      expect(renderChart({ files: [fileOf('smallest')], values: { settings: { usage } } })).not.toEqual([]);
    }
  });

  describe('refuses', () => {
    const simulated = { providers: [{ id: 'local', type: 'simulator' }] };
    const model = (id: string, more: Mapping = {}) => ({ id, routes: [{ provider: 'local' }], ...more });
    const pooled = (pools: Mapping[], models: Mapping[]) => ({ settings: { ...simulated, models }, pools });
    const provided = (more: Mapping) => ({ settings: { providers: [{ id: 'a', ...more }] } });
    const cases: [what: string, values: Mapping, line: string][] = [
      ['no image', { image: { repository: '' } }, 'image.repository is empty: build the image'],
      ['no secret', { secret: { existing: '' } }, 'secret.existing is empty: name a Secret that has'],
      [
        'a secret to be made that lacks what a pod needs',
        {
          secret: {
            existing: '',
            create: true,
            values: { REDIS_URL: 'redis://valkey', SLUICE_API_KEY: 'sk' },
          },
        },
        'secret.values.ADMIN_TOKEN is missing',
      ],
      ['two secrets', { secret: { create: true } }, 'secret.create and secret.existing are both set'],
      [
        'a key in clear',
        { settings: { keys: [{ name: 'a', key: 'sk-clear' }] } },
        'settings.keys[0].key is in clear',
      ],
      [
        'a provider with its key in clear',
        { settings: { providers: [{ id: 'a', type: 'openai-chat', apiKey: 'sk' }] } },
        'settings.providers[0].apiKey is in clear',
      ],
      [
        'an encryption key in clear',
        { settings: { encryptionKeys: ['${GOOD}', 'clear'] } },
        'settings.encryptionKeys[1] is in clear',
      ],
      [
        'a header with a credential in clear',
        provided({ type: 'openai-chat', headers: { 'X-Title': 'ours', 'X-Api-Key': 'sk-clear' } }),
        'settings.providers[0].headers.X-Api-Key is in clear',
      ],
      [
        'an option of a package that is a key in clear',
        provided({ type: 'ai-sdk', options: { apiKey: 'sk-clear' } }),
        'settings.providers[0].options.apiKey is in clear',
      ],
      [
        'a secret in clear deep in such options',
        provided({ type: 'ai-sdk', options: { accounts: [{ headers: { authorization: 'Bearer sk' } }] } }),
        'settings.providers[0].options.accounts[0].headers.authorization is in clear',
      ],
      [
        'the secret of a bucket in clear',
        {
          settings: {
            files: {
              enabled: true,
              bucket: { name: 'ours', accessKeyId: 'AKIA', secretAccessKey: 'clear' },
            },
          },
        },
        'settings.files.bucket.secretAccessKey is in clear',
      ],
      ...[
        'postgres://sluice:clear@db/sluice',
        'postgres://${DB_USER}:clear@${DB_HOST}/sluice',
        'postgres://sluice:1:2@db/sluice',
        'postgres://db/sluice?user=sluice&password=clear&application_name=${NAME}',
      ].map((databaseUrl): [string, Mapping, string] => [
        `the password of a database in clear, as in ${databaseUrl}`,
        { settings: { usage: { enabled: true, databaseUrl } } },
        'settings.usage.databaseUrl has a password in clear',
      ]),
      [
        'a variable that the chart sets',
        { api: { extraEnv: [{ name: 'PORT', value: '80' }] } },
        'api.extraEnv has PORT, which the chart sets',
      ],
      [
        'such a variable of a worker',
        { worker: { extraEnv: [{ name: 'REDIS_URL', value: 'redis://other' }] } },
        'worker.extraEnv has REDIS_URL, which the chart sets',
      ],
      ['pools without models', { pools: [{ name: 'large', models: ['a'] }] }, 'pools need settings.models'],
      [
        'a pool of a model that nobody has',
        pooled([{ name: 'large', models: ['b'] }], [model('a')]),
        'pools[0].models has b, which is not the id of a model',
      ],
      [
        'a model in no pool',
        pooled([{ name: 'large', models: ['a'] }], [model('a'), model('b')]),
        'settings.models has b, which is in no pool',
      ],
      [
        'pools and a provider that discovers its models',
        {
          settings: {
            providers: [{ id: 'house', type: 'openai-chat', baseUrl: 'http://house/v1', discover: true }],
            models: [model('a')],
          },
          pools: [{ name: 'large', models: ['a'] }],
        },
        'settings.providers[0].discover is for a release without pools',
      ],
      [
        'two pools of one name',
        pooled(
          [
            { name: 'large', models: ['a'] },
            { name: 'large', models: ['a'] },
          ],
          [model('a')],
        ),
        'pools[1].name is large, which is also the name of another pool',
      ],
      [
        'a queue whose models are in different pools',
        pooled(
          [
            { name: 'one', models: ['a'] },
            { name: 'other', models: ['b'] },
          ],
          [model('a', { queue: 'q' }), model('b', { queue: 'q' })],
        ),
        'pools[0].models has a and lacks b, which shares its queue',
      ],
      [
        'a pool with a file while the others have none',
        pooled([{ name: 'large', models: ['a'], existingSettings: { secret: 'x' } }], [model('a')]),
        'pools[0].existingSettings has no effect without existingSettings',
      ],
      [
        'pools without files of their own',
        { existingSettings: { secret: 'x' }, pools: [{ name: 'large', models: ['a'] }] },
        'pools[0].existingSettings is missing',
      ],
      [
        'two files of settings',
        { existingSettings: { secret: 'x', configMap: 'y' } },
        'existingSettings has a configMap and a secret',
      ],
      [
        'a percentage of no request',
        { api: { autoscaling: { enabled: true }, resources: { requests: { cpu: null } } } },
        'api.autoscaling needs api.resources.requests.cpu',
      ],
      [
        'more replicas at least than at most',
        { worker: { autoscaling: { by: 'cpu', minReplicas: 9, maxReplicas: 3 } } },
        'worker.autoscaling.minReplicas is more than maxReplicas',
      ],
      [
        'none by CPU, which never ends',
        { worker: { autoscaling: { by: 'cpu', minReplicas: 0 } } },
        'worker.autoscaling.minReplicas is 0',
      ],
      [
        'no worker at all, who would send webhooks',
        { worker: { autoscaling: { by: 'keda', minReplicas: 0 } } },
        'worker.autoscaling.minReplicas is 0 and no other pool keeps a worker',
      ],
      [
        'pools that may all go',
        pooled(
          [
            { name: 'stopped', models: ['a'], replicas: 0 },
            { name: 'rare', models: ['b'], autoscaling: { by: 'keda', minReplicas: 0 } },
          ],
          [model('a'), model('b')],
        ),
        'pools[1].autoscaling.minReplicas is 0 and no other pool keeps a worker',
      ],
      [
        'KEDA that is locked out',
        { worker: { autoscaling: { by: 'keda' } } },
        'networkPolicy.adminFrom is empty, so that KEDA cannot ask',
      ],
      [
        'Prometheus that is locked out',
        { monitoring: { enabled: true } },
        'networkPolicy.adminFrom or metricsFrom is empty',
      ],
      [
        'a model to be tested without a key',
        { existingSettings: { secret: 'x' }, test: { model: 'a' } },
        'test.apiKey is empty: test.model needs a key',
      ],
      [
        'files that would go with their pod',
        { settings: { files: { enabled: true } } },
        'settings.files has no bucket and no folder',
      ],
      [
        'a disk that uploads would fill',
        {
          settings: { files: { enabled: true, bucket: { name: 'files' } } },
          api: { tmpSize: '2Gi' },
        },
        'api.tmpSize is less than 20544Mi, which uploads and the results of batches may fill',
      ],
      [
        'files that are too large for the disk as it is',
        { settings: { files: { enabled: true, bucket: { name: 'files' }, bytes: 2_147_483_648 } } },
        'api.tmpSize is less than 26688Mi',
      ],
      [
        'usage that would go with its pod',
        { settings: { usage: { enabled: true } } },
        'settings.usage has no databaseUrl',
      ],
      ['an Ingress for no host', { ingress: { enabled: true } }, 'ingress.hosts is empty'],
      [
        'a service account that nobody names',
        { serviceAccount: { create: false } },
        'serviceAccount.create is false and serviceAccount.name is empty',
      ],
      [
        'a value that it does not know',
        { replicaCount: 3 },
        "additional properties 'replicaCount' not allowed",
      ],
      ['a value of the wrong kind', { api: { replicas: 'three' } }, '/api/replicas'],
    ];

    it.each(cases)('%s', (_what, values, line) => {
      expect(refusalOf({ files: [fileOf('smallest')], values })).toContain(line);
    });
  });
});

function relabelings(monitor: Manifest, endpoints: string): Mapping[] {
  const [endpoint] = specOf(monitor)[endpoints] as { relabelings: Mapping[] }[];
  return endpoint?.relabelings ?? [];
}

function fileOf(name: string): string {
  return valuesFiles.get(name) ?? '';
}
