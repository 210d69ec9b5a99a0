/** The tab of notes: what blsnb noticed about calls of recorded runs, newest run first. */

import { h } from "../../page/dom.ts";
import type { Row } from "../link/link.ts";
import type { Act } from "./models.ts";
import { RowList } from "./rowlist.ts";

interface NoteRow {
  key: string;
  /** Page id. */
  run: string;
  id: string;
  model: string;
  /** Number of the first call with the note, and the number of calls with it. */
  call: number;
  times: number;
  text: string;
}

export class Notes {
  readonly node: HTMLElement;
  #list: RowList<NoteRow>;

  constructor(act: Act) {
    this.#list = new RowList("notes", "No run has a note.", (note) => drawn(note, act));
    this.node = this.#list.node;
  }

  show(rows: Iterable<Row>): void {
    const notes = ([...rows] as unknown as NoteRow[]).reverse();
    this.#list.show(
      notes.map((item) => ({
        key: item.key,
        item,
        look: JSON.stringify(Object.values(item)),
        words: [item.model, placeOf(item), item.text].join(" "),
      })),
    );
  }
}

function placeOf({ id, call, times }: NoteRow): string {
  return `run ${id} call ${call}${times > 1 ? ` and ${times - 1} more` : ""}`;
}

function drawn(note: NoteRow, act: Act): HTMLElement[] {
  const { run, id, model, text } = note;
  const open = (): void => act("view", { run });
  const head = h(
    "button",
    { type: "button", class: "head", onclick: open, title: `Open the view of run ${id}` },
    h("span", { class: "name" }, model),
    h("span", { class: "state" }, placeOf(note)),
  );
  return [head, h("div", { class: "line" }, text)];
}
