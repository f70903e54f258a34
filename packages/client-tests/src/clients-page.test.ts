import { describe, expect, it } from 'vitest';
import { type FeatureResult, readResults } from './client-results.ts';
import { clientsPage, type TestedClient } from './clients-page.ts';

const client: TestedClient = { name: 'openai', language: 'Node.js', packages: ['openai 7.0.0'] };
const other: TestedClient = { name: 'openai for Python', language: 'Python', packages: ['openai 3.0.0'] };

function result(feature: string, mount: string, rest: Partial<FeatureResult> = {}): FeatureResult {
  return { client: 'openai', feature, mount, outcome: 'passed', remark: undefined, ...rest };
}

describe('clientsPage', () => {
  it('has a row for each feature and a column for each mount', () => {
    const page = clientsPage(
      [client],
      [
        result('`create`', '/v1'),
        result('`create`', '/api/v1', { outcome: 'failed' }),
        result('`compact`', '/v1', { outcome: 'skipped' }),
      ],
    );
    expect(page.slice(page.indexOf('## '))).toBe(`## openai

Node.js: openai 7.0.0

|           | \`/v1\`      | \`/api/v1\` |
| --------- | ---------- | --------- |
| \`create\`  | yes        | no        |
| \`compact\` | not tested |           |
`);
  });

  it('numbers what tests remark, and says each once', () => {
    const remark = 'It ignores this.';
    const page = clientsPage([client], [result('a', '/v1', { remark }), result('b', '/v1', { remark })]);
    expect(page).toContain('| a   | yes [1] |\n| b   | yes [1] |');
    expect(page).toMatch(/\n\n1\. It ignores this\.\n$/);
  });

  it('keeps the section of a client of which nothing ran', () => {
    const python = (outcome: 'passed' | 'skipped', feature: string) =>
      result(feature, '/v1', { client: other.name, outcome });
    const full = clientsPage(
      [client, other, { ...client, name: 'third' }],
      [result('a', '/v1'), python('passed', 'b'), result('c', '/v1', { client: 'third' })],
    );
    const partial = clientsPage(
      [client, { ...other, packages: ['openai 9.0.0'] }, { ...client, name: 'third' }],
      [result('a', '/v1'), python('skipped', 'b (needs Python)'), result('c', '/v1', { client: 'third' })],
      full,
    );
    expect(partial).toBe(full);
  });
});

describe('readResults', () => {
  const report = (ancestor: string) =>
    JSON.stringify({
      testResults: [
        {
          assertionResults: [
            { ancestorTitles: [ancestor], title: 'a', status: 'passed', meta: { remark: 'r' } },
            { ancestorTitles: [ancestor], title: 'b', status: 'pending', meta: {} },
          ],
        },
      ],
    });

  it('takes the client and the mount from the name of the suite', () => {
    expect(readResults(report('openai at /api/v1'))).toEqual([
      { client: 'openai', feature: 'a', mount: '/api/v1', outcome: 'passed', remark: 'r' },
      { client: 'openai', feature: 'b', mount: '/api/v1', outcome: 'skipped', remark: undefined },
    ]);
  });

  it('refuses a test that would be missing in the table', () => {
    expect(() => readResults(report('somewhere'))).toThrow("'a' belongs to no client");
  });
});
