import { useEffect, useEffectEvent, useState } from 'react';
import { showNotice } from '../components/notices.tsx';

/**
 * A part of the frame that is behind a button, and so not part of the first page: undefined until it was wanted and is loaded.
 * Unlike one of `React.lazy`, it is loaded again when it is wanted once more after it could not be. A notice says so then, and
 * `onFailed` takes back what wanted it.
 */
export function usePart<Part>(
  isWanted: boolean,
  { load, onFailed }: { load: () => Promise<Part>; onFailed: () => void },
): Part | undefined {
  const [loaded, setLoaded] = useState<{ part: Part }>();
  const begin = useEffectEvent(load);
  const giveUp = useEffectEvent(() => {
    onFailed();
    void showNotice({
      title: 'This part of the console could not be loaded',
      message: 'The service may be away, or have a new version. Load the page again once it answers.',
      color: 'red',
      autoClose: 10_000,
      role: 'alert',
    });
  });
  const isMissing = isWanted && loaded === undefined;
  useEffect(() => {
    if (!isMissing) return undefined;
    let isOver = false;
    begin().then(
      (part) => setLoaded({ part }),
      () => {
        if (!isOver) giveUp();
      },
    );
    return () => {
      isOver = true;
    };
  }, [isMissing]);
  return loaded?.part;
}
