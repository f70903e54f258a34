import { errorRow } from '@sluice/contract';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { healthRoutes, routes } from './routes.ts';

const all = [...routes, ...healthRoutes];

describe('the list of routes', () => {
  it('names each once', () => {
    const names = all.map(({ method, path }) => `${method} ${path}`);
    expect(new Set(names).size).toBe(names.length);
  });

  it.each(all.map((route) => [`${route.method} ${route.path}`, route] as const))(
    'says of %s all that a document needs',
    (_name, { path, summary, params, query, headers, body, answers, errors }) => {
      expect(summary).toMatch(/\.$/);
      const named = [...path.matchAll(/:(\w+)|(\*)/g)].map(([, name, rest]) => name ?? rest);
      const described = params ? (z.toJSONSchema(params).properties ?? {}) : {};
      expect(Object.keys(described)).toEqual(named);
      for (const part of [query, headers, body?.schema]) {
        if (part) expect(z.toJSONSchema(part, { io: 'input' })).toMatchObject({ type: 'object' });
      }
      if (body) expect(body.schema.safeParse(body.example).error).toBeUndefined();
      for (const { content } of answers) {
        if (content) expect(z.toJSONSchema(content.schema)).toBeTypeOf('object');
      }
      expect(errors.map((code) => errorRow(code).status).filter((status) => status < 400)).toEqual([]);
      expect(new Set(errors).size).toBe(errors.length);
    },
  );
});
