import { describe, expect, it } from 'vitest';
import { FatalError, listenFailure } from './fatal-error.ts';

const target = { host: '127.0.0.1', port: 3000, portSetting: 'PORT', hostSetting: 'HOST' };

function systemError(code: string): Error {
  return Object.assign(new Error(`listen ${code}`), { code });
}

describe('listen failure', () => {
  it('names the setting of a port that is taken', () => {
    const failure = listenFailure(systemError('EADDRINUSE'), target);
    expect(failure).toBeInstanceOf(FatalError);
    expect(failure).toMatchObject({
      exitCode: 1,
      message: expect.stringContaining('set PORT to another port'),
    });
  });

  it.each(['EADDRNOTAVAIL', 'ENOTFOUND', 'EACCES'])('takes %s for a wrong setting', (code) => {
    expect(listenFailure(systemError(code), target)).toMatchObject({ exitCode: 2 });
  });

  it('passes on what is not about the address', () => {
    const error = systemError('EMFILE');
    expect(listenFailure(error, target)).toBe(error);
  });
});
