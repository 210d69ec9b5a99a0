/** A reader who is about to choose a row of a list: the rows must not move meanwhile. */

/** Keys that choose: what follows them may move. */
const CHOOSES = ["Enter", " "];

/**
 * Follow whether the pointer, or the focus of a keyboard, is in a list; a click in it ends that until either
 * moves again.
 *
 * `list` is the list, if it is shown; `changed` is called with each change. Returns how to stop.
 */
export function followAttention(
  list: () => Element | null,
  changed: (attended: boolean) => void,
): () => void {
  let [over, focused] = [false, false];
  const inside = ({ target }: Event): boolean => list()?.contains(target as Node | null) ?? false;
  const set = (nowOver: boolean, nowFocused: boolean): void => {
    const before = over || focused;
    [over, focused] = [nowOver, nowFocused];
    if (before !== (over || focused)) changed(!before);
  };
  const handlers: Record<string, (event: Event) => unknown> = {
    // A finger rests on nothing.
    pointermove: (event) => set((event as PointerEvent).pointerType !== "touch" && inside(event), focused),
    // Rows may leave a pointer that rests.
    pointerover: (event) => set(over && inside(event), focused),
    pointerleave: ({ target }) => target === document.documentElement && set(false, focused),
    keyup: (event) => CHOOSES.includes((event as KeyboardEvent).key) || set(over, inside(event)),
    focusout: () => set(over, false),
    click: (event) => inside(event) && set(false, false),
  };
  for (const [name, handler] of Object.entries(handlers)) document.addEventListener(name, handler, true);
  return () => {
    for (const [name, handler] of Object.entries(handlers)) document.removeEventListener(name, handler, true);
  };
}
