/** What is pressed in an element: what is replaced meanwhile gets no click, and a double click is one. */

/** A menu that opens may swallow the release. */
const ENDS = ["pointerup", "pointercancel", "contextmenu"];

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

/** Let a double click, and Enter while it is held, press a button of an element once. */
export function pressOnce(element: HTMLElement): void {
  const stop = (event: MouseEvent): void => {
    // What the first click drew may have put another button there.
    if (event.detail > 1) event.stopPropagation();
  };
  element.addEventListener("click", stop, true);
  element.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.repeat) event.preventDefault();
  });
}
