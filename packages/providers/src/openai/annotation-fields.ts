import type { Annotation } from '@sluice/contract';
import { countOf, objectOf, textOf } from '../json-fields.ts';

/**
 * A citation of a page on the web, in the contract's shape; undefined for anything else.
 *
 * Other annotations refer to files and containers of the upstream, which no client of this service can reach. Chat completions
 * hold the members in an object of their own.
 */
export function urlCitationFrom(value: unknown): Annotation | undefined {
  const annotation = objectOf(value);
  if (annotation?.['type'] !== 'url_citation') return undefined;
  const members = objectOf(annotation['url_citation']) ?? annotation;
  const url = textOf(members['url']);
  if (url === undefined || !/^https?:\/\//i.test(url)) return undefined;
  return {
    type: 'url_citation',
    url,
    start_index: countOf(members['start_index']),
    end_index: countOf(members['end_index']),
    title: textOf(members['title']) ?? '',
  };
}
