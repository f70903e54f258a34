import { describe, expect, it } from 'vitest';
import { familyOf } from './backlog.ts';

describe('familyOf', () => {
  it('leaves the id out', () => {
    expect(familyOf('bull:noop:create-response_abcDEF123456789012345678')).toBe('bull:noop:<response>');
  });
});
