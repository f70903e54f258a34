import { execFileSync } from 'node:child_process';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { forAllTests } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { clientSite, type Mount, mounts, oneRequestKeys, onlyPrompt } from '../src/client-site.ts';
import { claudeCodeVersion } from '../src/tested-clients.ts';
import { remark } from './remark.ts';
import { runProgram } from './terminal-program.ts';

const hasClaude = (() => {
  try {
    const printed = execFileSync('claude', ['--version'], { stdio: ['ignore', 'pipe', 'ignore'] });
    return printed.toString().startsWith(`${claudeCodeVersion} `);
  } catch {
    return false;
  }
})();
if (!hasClaude) {
  console.warn(`The tests of Claude Code need 'claude' ${claudeCodeVersion} on the PATH and are skipped.`);
}

/** A line that `claude -p --output-format stream-json` prints. */
interface ClaudeLine {
  type: string;
  message?: {
    content: { type: string; text?: string; thinking?: string; name?: string; content?: unknown }[];
  };
  is_error?: boolean;
  result?: string;
  api_error_status?: number | null;
  api_error_code?: string;
  usage?: { input_tokens: number; output_tokens: number };
}

interface ClaudeOptions {
  mount: Mount;
  prompt: string;
  model?: string;
  key?: string;
  args?: readonly string[];
  env?: Record<string, string>;
  /** Ended when it prints this. */
  until?: string;
}

const site = clientSite();
const folder = forAllTests(() => mkdtempDisposable(join(tmpdir(), 'sluice-claude-')));

/** Runs Claude Code with one prompt to its end and returns what it printed. Whatever is not on loopback is out of its reach. */
async function claude(options: ClaudeOptions): Promise<{ code: number | null; lines: ClaudeLine[] }> {
  const { mount, prompt, model = 'scripted', key = site.key, args = [], env = {}, until } = options;
  const { code, lines } = await runProgram({
    file: 'claude',
    args: ['-p', prompt, '--model', model, '--output-format', 'stream-json', '--verbose', ...args],
    cwd: folder.path,
    env: {
      HOME: folder.path,
      // It adds `/v1` to its address itself.
      ANTHROPIC_BASE_URL: site.baseUrl(mount).replace(/\/v1$/, ''),
      ANTHROPIC_AUTH_TOKEN: key,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      CLAUDE_CODE_MAX_RETRIES: '0',
      DISABLE_AUTOUPDATER: '1',
      ...env,
    },
    until,
  });
  return { code, lines: lines as ClaudeLine[] }; // as it prints them
}

const resultIn = (lines: readonly ClaudeLine[]) => lines.find(({ type }) => type === 'result');
const blocksIn = (lines: readonly ClaudeLine[]) => lines.flatMap(({ message }) => message?.content ?? []);

describe.skipIf(!hasClaude).each(mounts)('Claude Code at $mount', ({ mount }) => {
  it('`claude -p`', async () => {
    const { code, lines } = await claude({ mount, prompt: 'Tell me of Bergen.' });
    expect(code).toBe(0);
    expect(resultIn(lines)).toMatchObject({
      is_error: false,
      result: 'Bergen lies between seven mountains.',
      usage: { input_tokens: 11, output_tokens: 7 },
    });
  });

  it.each(['scripted', 'scripted-chat'])('a shell command and its output, with %s', async (model) => {
    const args = ['--allowedTools', 'Bash'];
    const { code, lines } = await claude({ mount, model, prompt: 'Run it in the shell.', args });
    expect(code).toBe(0);
    expect(blocksIn(lines)).toContainEqual(expect.objectContaining({ type: 'tool_use', name: 'Bash' }));
    expect(resultIn(lines)?.result).toBe('The tools say: from-the-42.');
  });

  it('thinking', async () => {
    const { lines } = await claude({ mount, prompt: 'Think.', env: { MAX_THINKING_TOKENS: '4096' } });
    expect(blocksIn(lines)).toContainEqual(
      expect.objectContaining({ type: 'thinking', thinking: 'The question is known.' }),
    );
    expect(resultIn(lines)?.result).toBe('Forty-two.');
  });

  it('`claude --continue`', async () => {
    await claude({ mount, prompt: 'My name is Ada.' });
    const { lines } = await claude({ mount, prompt: 'Repeat what was said.', args: ['--continue'] });
    expect(resultIn(lines)?.result).toContain('user: My name is Ada. | assistant: Bergen lies');
  });

  it('an unknown model', async () => {
    const { code, lines } = await claude({ mount, model: 'nobody', prompt: 'Hello.' });
    expect(code).not.toBe(0);
    expect(resultIn(lines)).toMatchObject({
      is_error: true,
      api_error_status: 400,
      api_error_code: 'model_not_found',
    });
  });

  it('429', async (context) => {
    const slow = { mount, model: 'simulator', key: oneRequestKeys[mount] };
    await claude({ ...slow, prompt: 'The only one.' });
    const { code, lines } = await claude({ ...slow, prompt: 'One too many.' });
    expect(code).not.toBe(0);
    expect(resultIn(lines)).toMatchObject({ is_error: true, api_error_status: 429 });
    remark(context, 'It tries again, unless `CLAUDE_CODE_MAX_RETRIES` is 0.');
  });

  it('ending it in mid-stream cancels the response', async () => {
    const prompt = onlyPrompt('Stall');
    await claude({ mount, prompt, args: ['--include-partial-messages'], until: 'Well, ' });
    expect(await site.model.requestsFor(prompt)[0]?.ended).toBe('aborted');
  });
});
