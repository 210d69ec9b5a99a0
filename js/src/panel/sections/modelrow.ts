/** A model in the panel: its state in words, and what can be done with it. */

import { counted } from "../../page/format.ts";
import type { Row } from "../link/link.ts";

export interface ModelRow {
  name: string;
  state: string;
  reason: string;
  versions: number[];
  origin: string;
  trouble: string[];
  differs: boolean;
  standin: string;
  running: string[];
  busy: number;
  instances: number;
  waiting: number;
}

export type Mark = "ready" | "stale" | "failed" | "unloaded" | "loading";

export function asModel(row: Row): ModelRow {
  return row as unknown as ModelRow;
}

/** Return the kind of a model's state, for its mark. */
export function markOf({ state, reason, trouble }: ModelRow): Mark {
  if (state === "READY") return trouble.length ? "stale" : "ready";
  if (state === "LOADING") return "loading";
  return state === "not loaded" || reason === "unloaded" || reason === "" ? "unloaded" : "failed";
}

/** Return what an idle reader sees at the right of the name. */
export function factsOf({ busy, instances, waiting, versions }: ModelRow): string[] {
  return [
    busy ? `busy ${busy}/${instances}` : "",
    waiting ? `queue ${waiting}` : "",
    versions.length > 1 ? counted(versions.length, "version") : "",
  ].filter(Boolean);
}

/** Return the lines below the name: trouble first. */
export function linesOf(model: ModelRow): { text: string; isTrouble: boolean }[] {
  const failure = markOf(model) === "failed" ? [model.reason] : [];
  const troubles = [...failure, ...model.trouble, ...model.running];
  const facts = [
    model.differs ? "cells differ from its folder" : "",
    model.standin ? `stand-in: ${model.standin}` : "",
    model.origin,
  ];
  return [
    ...troubles.map((text) => ({ text, isTrouble: true })),
    ...facts.filter(Boolean).map((text) => ({ text, isTrouble: false })),
  ];
}

/** Actions on a model: name, label, and whether it has it. */
export const MODEL_ACTIONS: [name: string, label: string, has: (model: ModelRow) => boolean][] = [
  ["load", "Load", () => true],
  ["unload", "Unload", ({ state }) => state === "READY"],
  ["open", "Open", () => true],
  ["edit", "Edit", () => true],
  ["try", "Try", ({ state }) => state === "READY"],
  ["stats", "Stats", ({ state }) => state === "READY"],
  ["diff", "Diff", ({ differs }) => differs],
  ["write_back", "Write to folder", ({ differs }) => differs],
  ["export", "Export", () => true],
];
