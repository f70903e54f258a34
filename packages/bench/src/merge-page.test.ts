import { describe, expect, it } from 'vitest';
import { mergePage } from './merge-page.ts';

const section = (name: string, text: string) =>
  `## ${name}\n\n${text}\n\n_\`npm run bench -- --scenario ${name}\`, 2026-01-02: 4 s._`;
const page = (...parts: string[]) => `${parts.join('\n\n')}\n`;
const order = ['streams', 'chat', 'backlog'];

describe('mergePage', () => {
  const earlier = page('# Before', section('streams', 'old'), section('backlog', 'old'));

  it('puts a section in the place of the former one, and keeps the others and the head', () => {
    const merged = mergePage(earlier, page('# Now', section('streams', 'new')), { order, isWhole: false });
    expect(merged).toBe(page('# Before', section('streams', 'new'), section('backlog', 'old')));
  });

  it('puts a first section where the order says', () => {
    const merged = mergePage(earlier, page('# Now', section('chat', 'new')), { order, isWhole: false });
    expect(merged).toBe(
      page('# Before', section('streams', 'old'), section('chat', 'new'), section('backlog', 'old')),
    );
  });

  it('takes the head of a whole run', () => {
    const now = page('# Now', section('streams', 'new'));
    expect(mergePage(earlier, now, { order, isWhole: true })).toBe(
      page('# Now', section('streams', 'new'), section('backlog', 'old')),
    );
  });

  it('refuses a page with a section of no scenario', () => {
    expect(() => mergePage('# Before\n\n## Mine\n', earlier, { order, isWhole: true })).toThrow(
      'names no scenario: ## Mine',
    );
  });
});
