// What the record's texts are written in, for CodeMirror and for static pieces of code alike.
import { StreamLanguage, type StreamParser } from "@codemirror/language";
import { gas } from "@codemirror/legacy-modes/mode/gas";
import { python } from "@codemirror/legacy-modes/mode/python";

const TYPE = /^(?:tensor|memref|vector|index|none|complex|tuple|bf16|f16|f32|f64|f128|tf32|[su]?i\d+|f8\w+|ptr|float|double|half|void)\b/;
const MLIR_WORD =
  /^(?:module|return|call|to|step|iter_args|ins|outs|into|from|private|attributes|affine_map|affine_set|dense|true|false|loc|func)\b/;
const LLVM_WORD =
  /^(?:define|declare|target|datalayout|triple|source_filename|attributes|metadata|distinct|global|constant|internal|private|align|nuw|nsw|exact|fast|contract|inbounds|nocapture|noundef|noalias|readonly|writeonly|to|x|label|true|false|null|undef|poison|zeroinitializer|splat)\b/;
const LLVM_OP =
  /^(?:ret|br|switch|add|fadd|sub|fsub|mul|fmul|[us]div|fdiv|[us]rem|frem|shl|[la]shr|and|or|xor|fneg|alloca|load|store|getelementptr|trunc|[zs]ext|fptrunc|fpext|fpto[us]i|[us]itofp|ptrtoint|inttoptr|bitcast|[if]cmp|phi|select|call|tail|extractelement|insertelement|shufflevector|extractvalue|insertvalue|freeze|unreachable|fence)\b/;

function parser(name: string, comment: string, word: RegExp, op: RegExp): StreamParser<unknown> {
  return {
    name,
    token(stream) {
      if (stream.eatSpace()) return null;
      if (stream.match(comment)) {
        stream.skipToEnd();
        return "comment";
      }
      if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return "string";
      if (stream.match(/^(?:#loc\w*|loc(?=\())/)) return "meta";
      if (stream.match(/^[%^][\w$.#-]+/)) return "variableName";
      if (stream.match(/^@[\w$.-]+/)) return "variableName.function";
      if (stream.match(/^[#!][\w$.]+/)) return "meta";
      if (stream.match(op)) return "keyword";
      if (stream.match(TYPE)) return "typeName";
      if (stream.match(word)) return "operatorKeyword";
      if (stream.match(/^(?:0x[0-9A-Fa-f]+|-?\d+(?:\.\d+(?:[eE][+-]?\d+)?)?)/)) return "number";
      // A shape: its type follows the last x.
      if (stream.match(/^x(?=\d|\?|[a-z])/)) return "number";
      if (!stream.match(/^[A-Za-z_][\w$-]*/)) stream.next();
      return null;
    },
  };
}

export const mlir = StreamLanguage.define(parser("mlir", "//", MLIR_WORD, /^[a-z_]\w*(?:\.\w+)+/));
export const llvm = StreamLanguage.define(parser("llvm", ";", LLVM_WORD, LLVM_OP));
export const asm = StreamLanguage.define(gas);
export const py = StreamLanguage.define(python);

const BY_SUFFIX: Record<string, StreamLanguage<unknown>> = { mlir, ll: llvm, s: asm, py } as never;

/** The language of a file of this name; null where it is plain text. */
export function languageOf(file: string): StreamLanguage<unknown> | null {
  return BY_SUFFIX[file.replace(/^.*\./, "")] ?? null;
}
