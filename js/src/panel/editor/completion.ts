/** Tab in files: fields and enumerators of `config.pbtxt`, each with its meaning. */

import { candidates, placeAtEnd } from "./configplace.ts";

interface Request {
  text: string;
  /** Number of characters, not of UTF-16 units, before the cursor. */
  offset: number;
}

export interface Completion {
  label: string;
  type: string;
  documentation: string;
}

interface Reply {
  start: number;
  end: number;
  items: Completion[];
}

interface Context {
  widget?: { context?: { path?: string } };
}

/** Completes in files whose names end in `.pbtxt`, as JupyterLab's completer takes it. */
export const CONFIG_COMPLETION = {
  identifier: "CompletionProvider:blsnb-config",
  // Before the words of the file itself.
  rank: 600,
  renderer: null,
  isApplicable: async ({ widget }: Context): Promise<boolean> => widget?.context?.path?.endsWith(".pbtxt") ?? false,
  fetch: async ({ text, offset }: Request): Promise<Reply> => completed([...text].slice(0, offset).join(""), offset),
};

/** Return what may stand at the end of a text. */
export function completed(before: string, offset: number): Reply {
  const word = /\w*$/.exec(before)?.[0] ?? "";
  const place = placeAtEnd(before.slice(0, before.length - word.length));
  const found = place ? Object.entries(candidates(place)) : [];
  const items = found
    .filter(([name]) => name.startsWith(word))
    .map(([label, documentation]) => ({ label, type: place?.field ? "value" : "field", documentation }));
  return { start: offset - word.length, end: offset, items };
}
