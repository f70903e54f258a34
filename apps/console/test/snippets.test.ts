import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { shellQuoted, snippetsOf } from '../src/pages/playground/snippets.ts';

const hostile = `It's "quoted" $HOME \`id\` \\ and\nmore; rm`;

describe('a request to run elsewhere', () => {
  it('holds what was sent, and the key as a variable', () => {
    const snippets = snippetsOf('http://127.0.0.1:3000', { model: 'm', input: 'Hi', stream: true });
    for (const text of Object.values(snippets)) {
      expect(text).toContain('SLUICE_API_KEY');
      expect(text).toContain('http://127.0.0.1:3000/v1');
    }
    expect(snippets.curl).toContain('curl -N ');
    expect(snippets.python).toContain('for event in response:');
  });

  it('gives a shell one word, whatever is in it', () => {
    const printed = execFileSync('sh', ['-c', `printf %s ${shellQuoted(hostile)}`], { encoding: 'utf8' });
    expect(printed).toBe(hostile);
  });

  it('sends by curl exactly the body', () => {
    const body = { model: 'm', input: hostile };
    const { curl } = snippetsOf('http://127.0.0.1:3000', body);
    const script = `curl() { for each in "$@"; do last=$each; done; printf %s "$last"; }\n${curl}`;
    expect(JSON.parse(execFileSync('sh', ['-c', script], { encoding: 'utf8' }))).toEqual(body);
  });
});
