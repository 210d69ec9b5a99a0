/** A list of rows with a filter: one row is in the tab order, arrow keys move, Enter opens. */

import { followAttention } from "../../page/attention.ts";
import { h, setText } from "../../page/dom.ts";
import { counted } from "../../page/format.ts";
import { pressedIn } from "../../page/press.ts";

export interface Shown<Item> {
  key: string;
  item: Item;
  /** A text that is equal only for rows that look the same. */
  look: string;
  /** What the row shows in words; the filter searches it. */
  words: string;
}

export class RowList<Item> {
  readonly node: HTMLElement;
  #list = h("ul", { class: "rows" });
  #note = h("p", { class: "note" });
  #waits = h("p", { class: "note waits" });
  #filter: HTMLInputElement;
  #elements = new Map<string, { element: HTMLElement; look: string }>();
  #rows: Shown<Item>[] = [];
  #open: string | null = null;
  #isPressed: () => boolean;
  #isAttended = false;
  #draw: (item: Item, isOpen: boolean) => HTMLElement[];
  #empty: string;

  /**
   * `draw` returns the elements of a row. In them, the button of the class `head` is the row's stop of the
   * arrow keys, and the button of the class `toggle`, which may be the same, unfolds the row. `empty` is
   * shown without rows.
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
    this.#isPressed = pressedIn(this.#list, () => this.show(this.#rows));
    followAttention(
      () => this.#list,
      (attended) => {
        this.#isAttended = attended;
        this.show(this.#rows);
      },
    );
    this.node = h("div", { class: "listing" }, this.#filter, this.#list, this.#note, this.#waits);
  }

  show(rows: Shown<Item>[]): void {
    this.#rows = rows;
    if (this.#isPressed()) return;
    if (this.#isAttended) this.#refreshInPlace();
    else this.#refresh();
  }

  /** Draw the rows that are shown; others wait, so that none moves away from the reader. */
  #refreshInPlace(): void {
    const { length } = this.#matching().filter(({ key }) => !this.#elements.has(key));
    for (const row of this.#rows) this.#update(row);
    setText(this.#waits, length ? `${counted(length, "new row")} when the pointer or the focus leaves the list.` : "");
  }

  #matching(): Shown<Item>[] {
    const wanted = this.#wanted;
    return this.#rows.filter(({ words }) => words.toLowerCase().includes(wanted));
  }

  get #wanted(): string {
    return this.#filter.value.trim().toLowerCase();
  }

  #refresh(): void {
    const [wanted, shown] = [this.#wanted, this.#matching()];
    const kept = new Set(shown.map(({ key }) => key));
    const focused = [...this.#list.children].findIndex((row) => row.contains(document.activeElement));
    for (const [key, { element }] of this.#elements) {
      if (kept.has(key)) continue;
      element.remove();
      this.#elements.delete(key);
    }
    let before: Element | null = null;
    for (const row of shown) before = this.#place(row, before);
    if (focused >= 0 && !this.#list.contains(document.activeElement)) (this.#heads().slice(0, focused + 1).at(-1) ?? this.#filter).focus();
    this.#keepOneTabStop();
    const left = this.#rows.length - shown.length;
    setText(this.#waits, "");
    const none = wanted ? `No row has “${wanted}”.` : this.#empty;
    setText(this.#note, shown.length ? (left ? `${left} more do not match.` : "") : none);
  }

  /** Draw a row if it has changed, after the row before it. */
  #place(row: Shown<Item>, before: Element | null): Element {
    if (!this.#elements.has(row.key)) this.#elements.set(row.key, { element: h("li", {}), look: "" });
    const element = this.#update(row)!;
    const next = before ? before.nextElementSibling : this.#list.firstElementChild;
    if (next !== element) this.#list.insertBefore(element, next);
    return element;
  }

  /** Draw a row that has an element if it looks otherwise; return the element. */
  #update(row: Shown<Item>): Element | undefined {
    const known = this.#elements.get(row.key);
    const look = `${row.key === this.#open} ${row.look}`;
    if (known && known.look !== look) {
      this.#redraw(known.element, row);
      known.look = look;
    }
    return known?.element;
  }

  #redraw(element: HTMLElement, row: Shown<Item>): void {
    const focused = [...element.querySelectorAll("button")].indexOf(
      document.activeElement as HTMLButtonElement,
    );
    const isOpen = row.key === this.#open;
    element.replaceChildren(...this.#draw(row.item, isOpen));
    element.dataset.key = row.key;
    element.querySelector(".toggle")?.setAttribute("aria-expanded", String(isOpen));
    if (focused >= 0) [...element.querySelectorAll("button")].slice(0, focused + 1).at(-1)?.focus();
  }

  #keepOneTabStop(): void {
    const open = this.#open === null ? undefined : this.#elements.get(this.#open)?.element;
    const focused = document.activeElement?.closest("li");
    const stop = focused && this.#list.contains(focused) ? focused : (open ?? this.#list.firstElementChild);
    for (const row of this.#list.children) setStop(row, row === stop);
  }

  #heads(): HTMLElement[] {
    return [...this.#list.querySelectorAll<HTMLElement>(".head")];
  }

  #onClick(event: Event): void {
    const row = (event.target as Element).closest(".toggle")?.closest<HTMLElement>("li");
    if (!row) return;
    const key = row.dataset.key ?? null;
    this.#open = this.#open === key ? null : key;
    this.#refresh();
  }

  #onKey(event: KeyboardEvent): void {
    // Its keys choose a value.
    if ((event.target as Element).matches("select")) return;
    const heads = this.#heads();
    const at = heads.indexOf((event.target as Element).closest("li")?.querySelector<HTMLElement>(".head") as HTMLElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: heads.length - 1 }[event.key];
    if (to === undefined || !heads[to]) return;
    event.preventDefault();
    for (const head of heads) setStop(head.closest("li") as Element, head === heads[to]);
    heads[to].focus();
  }
}

function setStop(row: Element, isStop: boolean): void {
  for (const each of row.querySelectorAll<HTMLElement>(".head, .toggle")) each.tabIndex = isStop ? 0 : -1;
}
