import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Gateway } from './gateway.ts';

const version = '1.105.0';

/** It does not start without one. */
const masterKey = `sk-${randomBytes(32).toString('hex')}`;

/** LiteLLM's proxy, in Python, with one worker as its documentation advises for a core. Its models are in a file; JSON is YAML. */
export const litellm: Gateway = {
  name: 'litellm',
  version,
  async install(folder, run) {
    await run({ file: 'python3', args: ['-m', 'venv', folder] });
    await run({ file: join(folder, 'bin/pip'), args: ['install', '--quiet', `litellm[proxy]==${version}`] });
  },
  async serve({ folder, port, upstreamUrl, models }) {
    const config = join(folder, 'benchmark.yaml');
    const list = models.map((model) => ({
      model_name: model,
      litellm_params: {
        model: `openai/${model}`,
        api_base: `${upstreamUrl}/v1`,
        api_key: 'of-the-benchmark',
      },
    }));
    await writeFile(config, JSON.stringify({ model_list: list, litellm_settings: { telemetry: false } }));
    return {
      file: join(folder, 'bin/litellm'),
      args: ['--config', config, '--host', '127.0.0.1', '--port', String(port), '--num_workers', '1'],
      env: {
        LITELLM_MASTER_KEY: masterKey,
        LITELLM_LOG: 'ERROR',
        LITELLM_LOCAL_MODEL_COST_MAP: 'True',
        // It takes many tokens of the same text for a model that has lost its way.
        REPEATED_STREAMING_CHUNK_LIMIT: '1000000',
      },
    };
  },
  headers: () => ({ authorization: `Bearer ${masterKey}` }),
};
