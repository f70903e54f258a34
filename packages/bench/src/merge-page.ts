/**
 * Puts the sections of a page into an earlier one, in the order of the scenarios. Sections of other scenarios stay as they
 * are. The head, with the date and the machine, is that of the run only if the run was whole.
 */
export function mergePage(
  earlier: string,
  page: string,
  { order, isWhole }: { order: readonly string[]; isWhole: boolean },
): string {
  const [before, now] = [partsOf(earlier), partsOf(page)];
  const sections = new Map([...before.sections, ...now.sections]);
  const sorted = [...sections].toSorted(([a], [b]) => order.indexOf(a) - order.indexOf(b));
  return [isWhole ? now.head : before.head, ...sorted.map(([, text]) => text.trimEnd())].join('\n\n') + '\n';
}

/** Sections by the scenario that their last line names. */
function partsOf(page: string): { head: string; sections: Map<string, string> } {
  const [head = '', ...texts] = page.split(/^(?=## )/m);
  const sections = new Map<string, string>();
  for (const text of texts) {
    const name = [...text.matchAll(/^_`npm run bench -- --scenario ([\w-]+)`/gm)].at(-1)?.[1];
    if (name === undefined)
      throw new Error(`A section of the page names no scenario: ${text.split('\n')[0]}`);
    sections.set(name, text);
  }
  return { head: head.trimEnd(), sections };
}
