import { describe, expect, it } from 'vitest';
import { Telemetry } from './telemetry.ts';

const started = { responseId: 'r', model: 'm', attempt: 1, mode: 'whole', sinceAcceptMs: 5 } as const;

describe('telemetry', () => {
  it('tells every listener of an event, in order, and no other', () => {
    const heard: string[] = [];
    const telemetry = new Telemetry(() => undefined);
    telemetry.on('attempt.started', ({ model }) => heard.push(`first ${model}`));
    telemetry.on('attempt.started', ({ attempt }) => heard.push(`second ${attempt}`));
    telemetry.on('attempt.superseded', () => heard.push('other'));
    telemetry.emit('attempt.started', started);
    expect(heard).toEqual(['first m', 'second 1']);
  });

  it('lets no listener that throws disturb the others, or the process', () => {
    const errors: unknown[] = [];
    const heard: string[] = [];
    const telemetry = new Telemetry((error) => errors.push(error));
    const defect = new Error('a label is missing');
    telemetry.on('attempt.started', () => {
      throw defect;
    });
    telemetry.on('attempt.started', () => heard.push('heard'));
    telemetry.emit('attempt.started', started);
    expect(heard).toEqual(['heard']);
    expect(errors).toEqual([defect]);
  });
});
