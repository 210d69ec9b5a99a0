/** A pointer that is pressed in an element: what is replaced meanwhile gets no click. */

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
