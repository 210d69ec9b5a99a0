/** An element that is moved in the page: what it would forget out of the page is put back. */

/** Focus, how far what is inside was scrolled, and what is being dragged. */
export class Moving {
  #element: HTMLElement;
  #root: ShadowRoot;
  #focused: HTMLElement | null = null;
  #dragged: { element: Element; pointer: number } | null = null;
  #scrolled = new Map<Element, [top: number, left: number]>();

  constructor(element: HTMLElement, root: ShadowRoot) {
    this.#element = element;
    this.#root = root;
    // What is taken out of the page was neither left nor scrolled to its beginning.
    const listen = (name: string, heard: (target: HTMLElement) => void): void =>
      root.addEventListener(
        name,
        (event) => element.isConnected && heard(event.target as HTMLElement),
        { capture: true },
      );
    listen("focusin", (target) => (this.#focused = target));
    // Chromium tells of the focus that a removal takes away before it removes anything.
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
      // The button was let go meanwhile.
      this.#dragged = null;
    }
  }

  /** Put it in the place of all that is in another element. */
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
