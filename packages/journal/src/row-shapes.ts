import type { Status } from '@sluice/contract';

/** The fields of a row that filters and facets look at, and that many rows have in common. */
export interface ShapedFields {
  tenant: string;
  model: string;
  tier: string;
  mode: string;
  status: Status;
  code: string | null;
}

/** The fields that rows of one kind share. */
export interface RowShape extends Readonly<ShapedFields> {
  /** The query that tested it last. */
  query: object | undefined;
  /** The result of that query, which tests a shape once and not for each row. */
  missed: number;
  /** How many of its rows that query has counted. */
  count: number;
}

/** The shapes of the rows of a table. A query then looks at each shape once, and at each row for a few nanoseconds. */
export class RowShapes {
  readonly #shapes = new Map<string, RowShape>();
  readonly #most: number;

  /** `most`: so many are remembered; past it, rows of one kind may have more than one. */
  constructor(most: number) {
    this.#most = most;
  }

  of({ tenant, model, tier, mode, status, code }: ShapedFields): RowShape {
    const key = `${status} ${code ?? ''} ${tier} ${mode} ${model}\n${tenant}`;
    const known = this.#shapes.get(key);
    if (known) return known;
    if (this.#shapes.size >= this.#most) this.#shapes.clear();
    const shape = { tenant, model, tier, mode, status, code, query: undefined, missed: 0, count: 0 };
    this.#shapes.set(key, shape);
    return shape;
  }
}
