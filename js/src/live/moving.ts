/** Moves an element in the page, and restores what that loses. */

/** Keeps focus, scroll positions and a drag of an element that moves. */
export class Moving {
  #element: HTMLElement;
  #root: ShadowRoot;
  #focused: HTMLElement | null = null;
  #dragged: { element: Element; pointer: number } | null = null;
  #scrolled = new Map<Element, [top: number, left: number]>();

  constructor(element: HTMLElement, root: ShadowRoot) {
    this.#element = element;
    this.#root = root;
    // Events of an element out of the page are effects of its removal.
    const listen = (name: string, listener: (target: HTMLElement) => void): void =>
      root.addEventListener(
        name,
        (event) => element.isConnected && listener(event.target as HTMLElement),
        { capture: true },
      );
    listen("focusin", (target) => (this.#focused = target));
    // Chromium reports the lost focus before it removes the element.
    listen("focusout", () => setTimeout(() => this.#look()));
    listen("scroll", (target) =>
      this.#scrolled.set(target, [target.scrollTop, target.scrollLeft]),
    );
    root.addEventListener("gotpointercapture", (event) => {
      const { target, pointerId } = event as PointerEvent;
      this.#dragged = { element: target as Element, pointer: pointerId };
    });
    for (const end of ["pointerup", "pointercancel"])
      root.addEventListener(end, () => (this.#dragged = null), { capture: true });
  }

  #look(): void {
    if (this.#element.isConnected) this.#focused = this.#root.activeElement as HTMLElement | null;
  }

  #dragOn(): void {
    if (!this.#dragged?.element.isConnected) return;
    try {
      this.#dragged.element.setPointerCapture(this.#dragged.pointer);
    } catch {
      // The button was released outside the page.
      this.#dragged = null;
    }
  }

  /** Replace the content of another element by this one. */
  into(host: HTMLElement): void {
    const [focused, scrolled] = [this.#focused, [...this.#scrolled]];
    this.#scrolled.clear();
    host.replaceChildren(this.#element);
    for (const [element, [top, left]] of scrolled)
      if (element.isConnected) {
        element.scrollTo(left, top);
        this.#scrolled.set(element, [top, left]);
      }
    focused?.focus({ preventScroll: true });
    this.#dragOn();
  }
}
