import axe, { type AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

/** What axe objects to on a page as it is now: each rule that is broken, with the elements that break it. */
export async function accessibilityViolations(page: Page): Promise<string[]> {
  // Evaluated rather than added as a script, which the policy of a page would not allow.
  if (await page.evaluate<boolean>('typeof axe === "undefined"')) await page.evaluate(axe.source);
  const run = 'axe.run(document, { resultTypes: ["violations"] })';
  const { violations } = await page.evaluate<AxeResults>(run);
  return violations.map(({ id, help, nodes }) => {
    const where = nodes.map(({ html, failureSummary = '' }) => `\n  ${html}\n  ${failureSummary}`);
    return `${id}: ${help}${where.join('')}`;
  });
}
