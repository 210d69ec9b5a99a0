/** A list of rows with a filter: one row is in the tab order, arrow keys move, Enter opens. */

import { h, setText } from "../dom.ts";

export interface Shown<Item> {
  key: string;
  item: Item;
  /** A text that is equal only for rows that look the same. */
  look: string;
}

export class RowList<Item> {
  readonly node: HTMLElement;
  #list = h("ul", { class: "rows" });
  #note = h("p", { class: "note" });
  #filter: HTMLInputElement;
  #elements = new Map<string, { element: HTMLElement; look: string }>();
  #rows: Shown<Item>[] = [];
  #open: string | null = null;
  #draw: (item: Item, isOpen: boolean) => HTMLElement[];
  #empty: string;

  /**
   * `draw` returns the elements of a row: the first is its button. `empty` is shown without rows.
   */
  constructor(label: string, empty: string, draw: (item: Item, isOpen: boolean) => HTMLElement[]) {
    this.#draw = draw;
    this.#empty = empty;
    this.#filter = h("input", {
      type: "search",
      placeholder: `Filter ${label}`,
      "aria-label": `Filter ${label}`,
      oninput: () => this.#refresh(),
    });
    this.#list.setAttribute("aria-label", label);
    this.#list.addEventListener("keydown", (event) => this.#onKey(event));
    this.#list.addEventListener("click", (event) => this.#onClick(event));
    this.node = h("div", { class: "listing" }, this.#filter, this.#list, this.#note);
  }

  show(rows: Shown<Item>[]): void {
    this.#rows = rows;
    this.#refresh();
  }

  #refresh(): void {
    const wanted = this.#filter.value.trim().toLowerCase();
    const shown = this.#rows.filter(({ look }) => look.toLowerCase().includes(wanted));
    const kept = new Set(shown.map(({ key }) => key));
    for (const [key, { element }] of this.#elements) {
      if (kept.has(key)) continue;
      element.remove();
      this.#elements.delete(key);
    }
    let before: Element | null = null;
    for (const row of shown) before = this.#place(row, before);
    this.#keepOneTabStop();
    const left = this.#rows.length - shown.length;
    const none = wanted ? `No row has “${wanted}”.` : this.#empty;
    setText(this.#note, shown.length ? (left ? `${left} more do not match.` : "") : none);
  }

  /** Draw a row if it has changed, after the row before it. */
  #place(row: Shown<Item>, before: Element | null): Element {
    const look = `${row.key === this.#open} ${row.look}`;
    let known = this.#elements.get(row.key);
    if (!known) {
      known = { element: h("li", {}), look: "" };
      this.#elements.set(row.key, known);
    }
    const { element } = known;
    if (known.look !== look) this.#redraw(element, row);
    known.look = look;
    const next = before ? before.nextElementSibling : this.#list.firstElementChild;
    if (next !== element) this.#list.insertBefore(element, next);
    return element;
  }

  #redraw(element: HTMLElement, row: Shown<Item>): void {
    const focused = [...element.querySelectorAll("button")].indexOf(
      document.activeElement as HTMLButtonElement,
    );
    const isOpen = row.key === this.#open;
    const [head, ...rest] = this.#draw(row.item, isOpen);
    head.classList.add("head");
    head.setAttribute("aria-expanded", String(isOpen));
    head.dataset.key = row.key;
    element.replaceChildren(head, ...rest);
    if (focused >= 0) element.querySelectorAll("button")[focused]?.focus();
  }

  #keepOneTabStop(): void {
    const heads = this.#heads();
    const current = heads.find((each) => each === document.activeElement) ??
      heads.find((each) => each.dataset.key === this.#open) ?? heads[0];
    for (const head of heads) head.tabIndex = head === current ? 0 : -1;
  }

  #heads(): HTMLElement[] {
    return [...this.#list.querySelectorAll<HTMLElement>(".head")];
  }

  #onClick(event: Event): void {
    const head = (event.target as Element).closest<HTMLElement>(".head");
    if (!head) return;
    const key = head.dataset.key ?? null;
    this.#open = this.#open === key ? null : key;
    this.#refresh();
  }

  #onKey(event: KeyboardEvent): void {
    const heads = this.#heads();
    const at = heads.indexOf((event.target as Element).closest("li")?.querySelector<HTMLElement>(".head") as HTMLElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: heads.length - 1 }[event.key];
    if (to === undefined || !heads[to]) return;
    event.preventDefault();
    for (const head of heads) head.tabIndex = -1;
    heads[to].tabIndex = 0;
    heads[to].focus();
  }
}
