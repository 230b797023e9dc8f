// What the record's texts are written in, for CodeMirror and for static pieces of code alike: a list of patterns each, of
// which the first that fits is taken.
import { StreamLanguage, type StreamParser } from "@codemirror/language";
import { python } from "@codemirror/legacy-modes/mode/python";

type Rule = [pattern: RegExp, tag: string | null];

/** A language without state: what a token is depends on its line alone. `first` is tried at a line's first token. */
function lexer(name: string, rules: Rule[], first: Rule[] = []): StreamLanguage<unknown> {
  const parser: StreamParser<unknown> = {
    name,
    token(stream) {
      if (stream.eatSpace()) return null;
      const isFirst = /^\s*$/.test(stream.string.slice(0, stream.start));
      for (const [pattern, tag] of isFirst ? [...first, ...rules] : rules) {
        if (stream.match(pattern)) return tag;
      }
      stream.next();
      return null;
    },
  };
  return StreamLanguage.define(parser);
}

const STRING: Rule = [/^"(?:[^"\\]|\\.)*"/, "string"];
const NUMBER: Rule = [/^-?(?:0x[\da-fA-F]+|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)(?![\w.])/, "number"];

export const mlir = lexer("mlir", [
  [/^\/\/.*/, "comment"],
  STRING,
  [/^%[\w$.-]+(?:#\d+)?/, "variableName"],
  [/^\^\w+/, "labelName"],
  [/^@(?:[\w$.-]+|"[^"]*")/, "atom"],
  [/^![\w$.]+/, "typeName"],
  [/^#[\w$.]+/, "meta"],
  // A shape is sizes with an x behind each: 4x?xf32.
  [/^(?:\d+|\?)x(?=[\d?a-z!])/, "number"],
  [/^(?:memref|tensor|vector|complex|tuple)(?=<)/, "typeName"],
  [/^(?:[su]?i\d+|f\d+\w*|bf16|tf32|index|none)(?!\w)/, "typeName"],
  [/^[a-z_]\w*\.[\w.$]+/, "keyword"],
  [/^(?:module|return|call|func|private|to|step|iter_args|ins|outs|attributes|else|do)(?!\w)/, "keyword"],
  [/^(?:true|false|dense|unit|affine_map|affine_set|loc)(?!\w)/, "bool"],
  NUMBER,
  [/^[A-Za-z_$][\w$]*/, null],
]);

const LLVM_OPS =
  "add alloca and ashr atomicrmw bitcast br call cmpxchg extractelement extractvalue fadd fcmp fdiv fence fmul fneg fpext fptosi " +
  "fptoui fptrunc freeze frem fsub getelementptr icmp insertelement insertvalue inttoptr invoke load lshr mul or phi ptrtoint ret " +
  "sdiv select sext shl shufflevector sitofp srem store sub switch trunc udiv uitofp unreachable urem xor zext tail define declare";
export const llvm = lexer(
  "llvm",
  [
    [/^;.*/, "comment"],
    STRING,
    [/^%(?:[\w$.-]+|"[^"]*")/, "variableName"],
    [/^@(?:[\w$.-]+|"[^"]*")/, "atom"],
    [/^[!#][\w$.-]*/, "meta"],
    [/^(?:i\d+|ptr|half|bfloat|float|double|fp128|void|label|metadata|token)(?![\w.])/, "typeName"],
    [new RegExp(`^(?:${LLVM_OPS.replaceAll(" ", "|")})(?![\\w.])`), "keyword"],
    [/^(?:true|false|null|undef|poison|zeroinitializer|splat)(?!\w)/, "bool"],
    NUMBER,
    [/^[A-Za-z_$.][\w$.]*/, null],
  ],
  [[/^[\w$.-]+:/, "labelName"]],
);

export const asm = lexer(
  "asm",
  [
    [/^(?:#(?!\d|:)|\/\/).*/, "comment"],
    STRING,
    [/^\.L[\w$.]+/, "labelName"],
    [/^%\w+/, "variableName"],
    [/^[$#]-?(?:0x[\da-fA-F]+|\d+)/, "number"],
    [/^[@.]\w+/, "meta"],
    NUMBER,
    [/^[A-Za-z_$][\w$.]*/, null],
  ],
  [
    [/^[\w$.]+:/, "labelName"],
    [/^\.[\w.]+/, "meta"],
    [/^[a-z][\w.]*/, "keyword"],
  ],
);

export const graph = lexer("graph", [
  [/^\/\/.*/, "comment"],
  STRING,
  [/^[%$]\d+/, "variableName"],
  [/^slot \d+/, "variableName"],
  [/^(?:(?:\d+|\?|s\d+)x)*(?:[iuf]\d+|bf16|c64|c128)(?!\w)/, "typeName"],
  [/^[a-z_]\w*(?:\.\w+)+/, "keyword"],
  [/^(?:launch|host|return|input|scalar|size)(?!\w)/, "keyword"],
  NUMBER,
  [/^[A-Za-z_$][\w$]*/, null],
]);

export const py = StreamLanguage.define(python) as StreamLanguage<unknown>;

const BY_SUFFIX: Record<string, StreamLanguage<unknown>> = { mlir, ll: llvm, s: asm, py, txt: graph };

/** The language of a file of this name; null where it is plain text. */
export function languageOf(file: string): StreamLanguage<unknown> | null {
  return BY_SUFFIX[suffixOf(file)] ?? null;
}

/** What follows a file name's last dot. */
export function suffixOf(file: string): string {
  return file.replace(/^.*\./, "");
}
