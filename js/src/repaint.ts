/** When to paint what changes often. */

/** Above so many calls a live view is drawn twice a second. */
export const MANY_CALLS = 20_000;
const SLOW_MS = 500;

/** Many messages, one repaint per animation frame; slower when asked to. */
export function everyFrame(draw: () => void, slow: () => boolean): { ask(): void; cancel(): void } {
  let frame = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let last = -Infinity;
  const paint = (): void => {
    frame = 0;
    last = performance.now();
    draw();
  };
  const ask = (): void => {
    const wait = slow() ? SLOW_MS - (performance.now() - last) : 0;
    clearTimeout(timer);
    if (wait > 0) timer = setTimeout(ask, wait);
    else frame ||= requestAnimationFrame(paint);
  };
  const cancel = (): void => {
    clearTimeout(timer);
    cancelAnimationFrame(frame);
  };
  return { ask, cancel };
}
