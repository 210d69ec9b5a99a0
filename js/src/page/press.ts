/** What is pressed: drags; what is replaced meanwhile gets no click; a double click and a held key are one. */

/** A menu that opens may swallow the release. */
const ENDS = ["pointerup", "pointercancel", "contextmenu"] as const;
/** Keys that press a button, or switch and leave something. */
const ONCE = ["Enter", "Escape", "/", "?", "c"];

/**
 * Return whether the pointer is pressed in an element.
 *
 * `released` is called after its release, and after the click that follows.
 */
export function pressedIn(element: HTMLElement, released: () => void): () => boolean {
  let isHeld = false;
  const release = () => {
    for (const end of ENDS) document.removeEventListener(end, release, true);
    setTimeout(() => {
      isHeld = false;
      released();
    }, 0);
  };
  element.addEventListener("pointerdown", () => {
    isHeld = true;
    for (const end of ENDS) document.addEventListener(end, release, true);
  });
  return () => isHeld;
}

/** Follow a pointer from its press on an element to its release, which may be swallowed. */
export function drag(
  element: Element & GlobalEventHandlers,
  start: PointerEvent,
  moved: (event: PointerEvent) => void,
  released?: (event: MouseEvent) => void,
): void {
  const end = (event: MouseEvent): void => {
    element.removeEventListener("pointermove", moved);
    for (const each of ENDS) element.removeEventListener(each, end);
    if (event.type === "pointerup") released?.(event);
  };
  element.setPointerCapture(start.pointerId);
  element.addEventListener("pointermove", moved);
  for (const each of ENDS) element.addEventListener(each, end);
}

/** Let a double click, and a key that is held, press a button of an element once. */
export function pressOnce(element: HTMLElement): void {
  const stop = (event: MouseEvent): void => {
    // What the first click drew may have put another button there.
    if (event.detail > 1) event.stopPropagation();
  };
  element.addEventListener("click", stop, true);
  holdOnce(element);
}

/** Let a key that is held in an element act once; arrows repeat, and so does what is typed into a field. */
export function holdOnce(element: HTMLElement): void {
  let isTyped = false;
  const stop = (event: KeyboardEvent): void => {
    if (!event.repeat) isTyped = event.key.length === 1 && (event.target as Element).matches("input");
    else if (ONCE.includes(event.key) && !isTyped) {
      event.preventDefault();
      event.stopPropagation();
    }
  };
  element.addEventListener("keydown", stop, true);
}
