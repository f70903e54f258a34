/**
 * Puts the sections of a page into an earlier one, in the order of the scenarios. Sections of other scenarios stay as they
 * are. The date and the machine at the head are those of the run only if the run was whole.
 */
export function mergePage(
  earlier: string,
  page: string,
  { order, isWhole }: { order: readonly string[]; isWhole: boolean },
): string {
  const [before, now] = [partsOf(earlier), partsOf(page)];
  const sections = new Map([...before.sections, ...now.sections]);
  const sorted = [...sections].toSorted(([a], [b]) => order.indexOf(a) - order.indexOf(b));
  const { conditions } = isWhole ? now : before;
  return `${[now.introduction, conditions, ...sorted.map(([, text]) => text)].join('\n\n')}\n`;
}

interface Parts {
  introduction: string;
  /** The table with the date and the machine. */
  conditions: string;
  /** By the scenario that their last line names. */
  sections: Map<string, string>;
}

function partsOf(page: string): Parts {
  const [head = '', ...texts] = page.split(/^(?=## )/m);
  const table = head.indexOf('| | |');
  if (table < 0) throw new Error('The page has no table of the date and the machine.');
  const sections = new Map<string, string>();
  for (const text of texts) {
    const name = [...text.matchAll(/^_`npm run bench -- --scenario ([\w-]+)`/gm)].at(-1)?.[1];
    if (name === undefined)
      throw new Error(`A section of the page names no scenario: ${text.split('\n')[0]}`);
    sections.set(name, text.trimEnd());
  }
  return { introduction: head.slice(0, table).trimEnd(), conditions: head.slice(table).trimEnd(), sections };
}
