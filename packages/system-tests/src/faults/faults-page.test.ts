import { expect, it } from 'vitest';
import { renewSections } from './faults-page.ts';

const section = (title: string, text: string) => ({ title, text, columns: [], rows: [] });

it('renews sections in their places, adds those that are new, and leaves the others', () => {
  const page = '# Faults\n\nWords.\n\n## One\n\nold\n\nmore\n\n## Two\n\nold\n';
  expect(renewSections(page, [section('One', 'new'), section('Three', 'new')])).toBe(
    '# Faults\n\nWords.\n\n## One\n\nnew\n\n## Two\n\nold\n\n## Three\n\nnew\n',
  );
});
