import type { FacetField, Facets, ResponseSearch, ResponseRow, ResponseRows } from '@sluice/contract/admin';
import type { ResponseStory, RowCursor, RowPage, StoryFacts } from '@sluice/journal';

/** The data that `ResponseIndex` starts its thread with. */
export interface IndexThreadData {
  redisUrl: string;
  keyPrefix: string;
  /** How many responses are kept. */
  keep: number;
  /** How often it compares its open rows with the store, in milliseconds. */
  healEveryMs: number;
}

export type IndexState = ResponseRows['index'];

/** The questions to the thread, by kind, each with its answer. */
export interface IndexQuestions {
  list: { ask: { filter: ResponseSearch; after: RowCursor | undefined; limit: number }; answer: RowPage };
  facets: {
    ask: { filter: ResponseSearch; field: FacetField | undefined; prefix: string | undefined };
    answer: Facets['fields'];
  };
  count: { ask: { filter: ResponseSearch }; answer: number };
  /** Ids without their prefix, joined by spaces: one text passes between threads faster than many. */
  ids: { ask: { filter: ResponseSearch }; answer: string };
  story: {
    ask: { subject: string; facts: Omit<StoryFacts, 'pausesOf'> };
    answer: ResponseStory | undefined;
  };
}
export type IndexQuestion = keyof IndexQuestions;

export type ToIndex =
  | {
      [Kind in IndexQuestion]: { kind: Kind; number: number } & IndexQuestions[Kind]['ask'];
    }[IndexQuestion]
  | { kind: 'follow'; number: number; filter: ResponseSearch }
  | { kind: 'unfollow'; number: number }
  | { kind: 'stop' };

/** Rows that changed, for one who follows. */
export interface RowsNews {
  rows: ResponseRow[];
  /** Ids of rows that matched before and no longer do. */
  gone: string[];
  total: number;
}

export type FromIndex =
  | { kind: 'answer'; number: number; state: IndexState; value: unknown }
  /** It has never heard of the store. */
  | { kind: 'no_answer'; number: number }
  | { kind: 'news'; number: number; news: RowsNews };
