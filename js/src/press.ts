/** A pointer that is pressed in an element: what is replaced meanwhile gets no click. */

const ENDS = ["pointerup", "pointercancel"];

export class Press {
  isHeld = false;
  #released: () => void;

  /** `released` is called after the pointer is released, and after the click that follows. */
  constructor(element: HTMLElement, released: () => void) {
    this.#released = released;
    element.addEventListener("pointerdown", () => this.#hold());
  }

  #hold(): void {
    this.isHeld = true;
    const release = () => {
      for (const end of ENDS) document.removeEventListener(end, release, true);
      setTimeout(() => {
        this.isHeld = false;
        this.#released();
      }, 0);
    };
    for (const end of ENDS) document.addEventListener(end, release, true);
  }
}
