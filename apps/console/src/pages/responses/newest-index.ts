import type { ResponseRows } from '@sluice/contract/admin';

type Index = ResponseRows['index'] | undefined;

/**
 * The newest of what is known of the index. The list is read often while the index loads, and seldom afterwards; the facets are
 * read every few seconds all the time.
 */
export function newestIndex(ofList: Index, ofFacets: Index): Index {
  const hasJustLoaded = ofList?.state === 'ready' && ofFacets?.state === 'loading';
  return ofList?.state === 'loading' || hasJustLoaded ? ofList : (ofFacets ?? ofList);
}
