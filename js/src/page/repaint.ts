/** Repainting of a view that changes often. */

/** Number of calls above which a live view is drawn twice a second. */
export const MANY_CALLS = 20_000;
const SLOW_MS = 500;

/** Repaint once per animation frame, however many messages arrive; twice a second if `slow`. */
export function everyFrame(draw: () => void, slow: () => boolean): { request(): void; cancel(): void } {
  let frame = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let last = -Infinity;
  const paint = (): void => {
    frame = 0;
    last = performance.now();
    draw();
  };
  const request = (): void => {
    const wait = slow() ? SLOW_MS - (performance.now() - last) : 0;
    clearTimeout(timer);
    if (wait > 0) timer = setTimeout(request, wait);
    else frame ||= requestAnimationFrame(paint);
  };
  const cancel = (): void => {
    clearTimeout(timer);
    cancelAnimationFrame(frame);
  };
  return { request, cancel };
}
