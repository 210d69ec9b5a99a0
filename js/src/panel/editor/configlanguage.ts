/** The text format of `config.pbtxt`, for the highlighting of CodeMirror. */

/** The part of CodeMirror's stream that is read. */
export interface TextStream {
  match(pattern: RegExp): unknown;
  sol(): boolean;
  next(): unknown;
}

interface State {
  isFirst: boolean;
}

/** Kinds of tokens by pattern; the first that matches counts. */
const TOKENS: [pattern: RegExp, kind: string | null][] = [
  [/^\s+/, null],
  [/^#.*/, "comment"],
  [/^"(?:[^"\\]|\\.)*"?|^'(?:[^'\\]|\\.)*'?/, "string"],
  [/^(?:true|false)\b/, "bool"],
  [/^[+-]?(?:\d|\.\d)[\w.]*(?:[eE][+-]?\d+)?/, "number"],
  [/^[A-Za-z_][\w.]*(?=\s*[:{[<])/, "propertyName"],
  [/^[A-Z][A-Z0-9_]*\b/, "atom"],
  [/^[A-Za-z_][\w.]*/, "variableName"],
  [/^[{}[\]<>]/, "bracket"],
  [/^[:,;]/, "punctuation"],
];

/** A parser as CodeMirror's `StreamLanguage` takes it; the first line may be a cell magic. */
export const CONFIG_PARSER = {
  name: "triton-config",
  startState: (): State => ({ isFirst: true }),
  copyState: (state: State): State => ({ ...state }),
  token(stream: TextStream, state: State): string | null {
    if (stream.sol() && state.isFirst) {
      state.isFirst = false;
      if (stream.match(/^%%.*/)) return "meta";
    }
    for (const [pattern, kind] of TOKENS) if (stream.match(pattern)) return kind;
    stream.next();
    return null;
  },
  languageData: { commentTokens: { line: "#" }, closeBrackets: { brackets: ["{", "[", '"'] } },
};

/** Return whether a cell is a configuration. */
export function isConfigCell(source: string): boolean {
  return /^\s*%%triton_config(?:\s|$)/.test(source);
}
