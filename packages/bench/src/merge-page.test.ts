import { describe, expect, it } from 'vitest';
import { mergePage } from './merge-page.ts';

const section = (name: string, text: string) =>
  `## ${name}\n\n${text}\n\n_\`npm run bench -- --scenario ${name}\`, 2026-01-02: 4 s._`;
const head = (text: string, date: string) => `# ${text}\n\n| | |\n| --- | --- |\n| date | ${date} |`;
const page = (...parts: string[]) => `${parts.join('\n\n')}\n`;
const order = ['streams', 'chat', 'backlog'];

describe('mergePage', () => {
  const earlier = page(head('Before', '1'), section('streams', 'old'), section('backlog', 'old'));

  it('puts a section in the place of the former one, and keeps the others and the date', () => {
    const merged = mergePage(earlier, page(head('Now', '2'), section('streams', 'new')), {
      order,
      isWhole: false,
    });
    expect(merged).toBe(page(head('Now', '1'), section('streams', 'new'), section('backlog', 'old')));
  });

  it('puts a first section where the order says', () => {
    const merged = mergePage(earlier, page(head('Now', '2'), section('chat', 'new')), {
      order,
      isWhole: false,
    });
    expect(merged).toBe(
      page(head('Now', '1'), section('streams', 'old'), section('chat', 'new'), section('backlog', 'old')),
    );
  });

  it('takes the date and the machine of a whole run', () => {
    const now = page(head('Now', '2'), section('streams', 'new'));
    expect(mergePage(earlier, now, { order, isWhole: true })).toBe(
      page(head('Now', '2'), section('streams', 'new'), section('backlog', 'old')),
    );
  });

  it('refuses a page with a section of no scenario', () => {
    expect(() => mergePage(page(head('Before', '1'), '## Mine'), earlier, { order, isWhole: true })).toThrow(
      'names no scenario: ## Mine',
    );
  });
});
