// IR as text: the same as mlirdev/explore/irtext.py for what the page does with it.
import { suffixOf } from "./languages";

const STRING = String.raw`"(?:[^"\\\n]|\\.)*"`;
const INNER = String.raw`\{(?:[^{}"\n]|${STRING}|\{[^{}\n]*\})*\}`;
const BRACES = String.raw`\{(?:[^{}"\n]|${STRING}|${INNER})*\}`;
// A dictionary starts with a name that has a value or stands alone; `linalg.map { arith.addf }` is none.
const DICTIONARY = new RegExp(
  String.raw`(?<!linalg\.map)(?<!linalg\.reduce)(?: attributes)? (?:<(?=\{))?(?=\{[\w.$"]+(?: = |, |\}))${BRACES}>?`,
  "g",
);
const LLVM_GROUPS = /^(?:attributes #\d+ = |; Function Attrs: ).*$/;
const LLVM_GROUP = / #\d+(?=[ ,]|$)/g;
const LLVM_ATTACHMENT = /, !(?!dbg\b)[\w.]+ !\d+/g;

/** The lines without attributes, as many as before, so that their numbers stay. */
export function withoutAttributes(lines: string[], file: string): string[] {
  const language = suffixOf(file);
  if (language === "mlir") return lines.map((line) => (line.includes("{") ? line.replace(DICTIONARY, "") : line));
  if (language !== "ll") return lines;
  return lines.map((line) => (LLVM_GROUPS.test(line) ? "" : line.replace(LLVM_GROUP, "").replace(LLVM_ATTACHMENT, "")));
}

export interface Function {
  name: string;
  /** Its first line, from 1. */
  line: number;
}

const FUNCTIONS: Record<string, RegExp> = {
  mlir: /^ *(?:func\.func|llvm\.func)\b.*?@([\w$.]+)\(.*\{$/,
  ll: /^define .*?@([\w$.]+)\(/,
  s: /^([A-Za-z_][\w$.]*):/,
};

/** The functions that have a body. */
export function functionsOf(lines: string[], file: string): Function[] {
  const pattern = FUNCTIONS[suffixOf(file)];
  if (!pattern) return [];
  return lines.flatMap((line, at) => {
    const found = pattern.exec(line);
    return found ? [{ name: found[1]!, line: at + 1 }] : [];
  });
}
