import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { forAllTests } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { clientSite, type Mount, mounts, oneRequestKeys, onlyPrompt } from '../src/client-site.ts';
import { remark } from './remark.ts';
import { runProgram } from './terminal-program.ts';

const resolve = createRequire(import.meta.url).resolve;

/** The program is a package for each platform, which npm leaves out elsewhere. */
const hasCodex = (() => {
  try {
    resolve(`@openai/codex-${process.platform}-${process.arch}/package.json`);
    return true;
  } catch {
    return false;
  }
})();

if (!hasCodex) console.warn('The tests of Codex need its program for this platform and are skipped.');

/** An event that `codex exec --json` prints. */
interface CodexEvent {
  type: string;
  item?: { type: string; text?: string; command?: string; aggregated_output?: string; exit_code?: number };
  usage?: { input_tokens: number; output_tokens: number };
  error?: { message: string };
  message?: string;
}

interface CodexOptions {
  mount: Mount;
  prompt: string;
  model?: string;
  key?: string;
  usesWebSocket?: boolean;
  /** Continues the last session of this home. */
  isResumed?: boolean;
}

const site = clientSite();
const folder = forAllTests(() => mkdtempDisposable(join(tmpdir(), 'sluice-codex-')));

/** Where Codex keeps its settings and sessions. */
async function codexHome({ mount, usesWebSocket = false }: CodexOptions): Promise<string> {
  const home = join(folder.path, `home${mount.replaceAll('/', '-')}-${usesWebSocket}`);
  await mkdir(home, { recursive: true });
  const settings = `
model_provider = "sluice"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.sluice]
name = "Sluice"
base_url = "${site.baseUrl(mount)}"
env_key = "SLUICE_API_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
supports_websockets = ${usesWebSocket}
`;
  await writeFile(join(home, 'config.toml'), settings);
  return home;
}

/** Runs Codex with one prompt to its end and returns what it printed. Whatever is not on loopback is out of its reach. */
async function codex(options: CodexOptions): Promise<{ code: number | null; events: CodexEvent[] }> {
  const { prompt, model = 'scripted', key = site.key, isResumed = false } = options;
  const args = ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', '--json'];
  args.push('--model', model, ...(isResumed ? ['resume', '--last'] : []), prompt);
  const { code, lines } = await runProgram({
    file: process.execPath,
    args: [resolve('@openai/codex/bin/codex.js'), ...args],
    cwd: folder.path,
    env: { HOME: folder.path, CODEX_HOME: await codexHome(options), SLUICE_API_KEY: key },
  });
  return { code, events: lines as CodexEvent[] }; // as it prints them
}

function itemsOf(events: readonly CodexEvent[], type: string) {
  return events.flatMap(({ type: event, item }) =>
    event === 'item.completed' && item?.type === type ? [item] : [],
  );
}

function answerIn(events: readonly CodexEvent[]): string | undefined {
  return itemsOf(events, 'agent_message').at(-1)?.text;
}

describe.skipIf(!hasCodex).each(mounts)('Codex CLI at $mount', ({ mount }) => {
  it('`codex exec`', async () => {
    const { code, events } = await codex({ mount, prompt: 'Tell me of Bergen.' });
    expect(code).toBe(0);
    expect(answerIn(events)).toBe('Bergen lies between seven mountains.');
    expect(events.at(-1)).toMatchObject({
      type: 'turn.completed',
      usage: { input_tokens: 11, output_tokens: 7 },
    });
  });

  it.each(['scripted', 'scripted-chat'])('a shell command and its output, with %s', async (model) => {
    const { code, events } = await codex({ mount, model, prompt: 'Run it in the shell.' });
    expect(code).toBe(0);
    const [command] = itemsOf(events, 'command_execution');
    expect(command).toMatchObject({ exit_code: 0, aggregated_output: 'from-the-42\n' });
    expect(answerIn(events)).toMatch(/^The tools say: .*from-the-42/s);
  });

  it('reasoning', async () => {
    const { events } = await codex({ mount, prompt: 'Think.' });
    expect(answerIn(events)).toBe('Forty-two.');
  });

  it('`codex exec resume`', async () => {
    await codex({ mount, prompt: 'My name is Ada.' });
    const { events } = await codex({ mount, prompt: 'Repeat what was said.', isResumed: true });
    expect(answerIn(events)).toContain('user: My name is Ada. | assistant: Bergen lies');
  });

  it('an unknown model', async () => {
    const { code, events } = await codex({ mount, model: 'nobody', prompt: 'Hello.' });
    expect(code).not.toBe(0);
    expect(events.at(-1)?.error?.message).toContain("'nobody' does not exist");
  });

  it('429 with the request id', async (context) => {
    const slow = { mount, model: 'simulator', key: oneRequestKeys[mount] };
    await codex({ ...slow, prompt: 'The only one.' });
    const { code, events } = await codex({ ...slow, prompt: 'One too many.' });
    expect(code).not.toBe(0);
    expect(events.at(-1)?.error?.message).toMatch(/429 Too Many Requests, request id: req_/);
    remark(
      context,
      'It waits as long as `Retry-After` says and tries again, unless `stream_max_retries` is 0.',
    );
  });

  it('a shell command over a WebSocket', async () => {
    const prompt = onlyPrompt('Run it in the shell');
    const { code, events } = await codex({ mount, prompt, usesWebSocket: true });
    expect(code).toBe(0);
    expect(itemsOf(events, 'command_execution')).toMatchObject([{ exit_code: 0 }]);
    expect(answerIn(events)).toMatch(/^The tools say: .*from-the-42/s);
    expect(site.model.requestsFor(prompt)).toHaveLength(2);
    expect(events.filter(({ type }) => type === 'error')).toEqual([]);
  });
});
