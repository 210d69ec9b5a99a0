/** The inspector of the models that share one box. */

import { h } from "../page/dom.ts";
import { count, counted, time } from "../page/format.ts";
import type { Session } from "../session/session.ts";
import type { Trace } from "../trace/trace.ts";

/** Maximum number of listed models; the filter finds the others. */
const MAX_LISTED = 100;

interface Row {
  model: number;
  calls: number;
  own: number;
}

/** Return the list of the models, largest own time first. */
export function manyModels(session: Session, models: readonly number[]): HTMLElement[] {
  const rows = rowsOf(session.trace, models);
  const hidden = rows.length - MAX_LISTED;
  return [
    h("div", { class: "breadcrumb" }, "the smallest by own time"),
    h("h3", {}, counted(models.length, "model")),
    h("h4", {}, "Model", h("span", {}, "own time")),
    ...rows.slice(0, MAX_LISTED).map((row) => link(session, row)),
    ...(hidden > 0 ? [h("p", { class: "reason" }, `… ${counted(hidden, "more model")}`)] : []),
  ];
}

/** Return calls and own time of each model. Pure. */
export function rowsOf(trace: Trace, models: readonly number[]): Row[] {
  const rows = new Map(models.map((model) => [model, { model, calls: 0, own: 0 }]));
  for (let call = 0; call < trace.n; call++) {
    const row = rows.get(trace.calls.model[call]);
    if (!row) continue;
    row.calls++;
    row.own += trace.own[call];
  }
  return [...rows.values()].sort((a, b) => b.own - a.own);
}

function link(session: Session, { model, calls, own }: Row): HTMLElement {
  const { model: models } = session.trace.calls;
  const onclick = (): void =>
    session.select(
      calls === 1 ? { kind: "call", call: models.indexOf(model) } : { kind: "model", model },
      { reveal: true },
    );
  const times = calls > 1 ? ` ×${count(calls)}` : "";
  return h(
    "button",
    { type: "button", class: "link", onclick, "data-focus": `model-${model}` },
    h("span", {}, `${session.trace.names[model]}${times}`),
    h("span", {}, time(own)),
  );
}
