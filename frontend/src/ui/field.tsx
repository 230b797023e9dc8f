// A search field whose text is in the address: "/" leads into it. While one types, the address follows the field and
// not the other way round, since letters may come faster than the page is drawn.
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { useKeys } from "./keys";

interface Props {
  value: string;
  onValue: (value: string) => void;
  hint: string;
  label?: string;
  class?: string;
  isWrong?: boolean;
  /** The cursor is in it from the start. */
  isFirst?: boolean;
}

export function Field({ value, onValue, hint, label, isWrong, isFirst, ...rest }: Props): JSX.Element {
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    if (document.activeElement !== field.current) field.current!.value = value;
  }, [value]);
  useLayoutEffect(() => {
    if (isFirst) field.current!.focus();
  }, []);
  useKeys({
    element: () => field.current,
    filter: () => {
      field.current?.focus();
      field.current?.select();
      return true;
    },
  });
  return (
    <input
      ref={field}
      type="search"
      class={rest.class}
      placeholder={hint}
      aria-label={label ?? hint}
      aria-invalid={isWrong}
      spellcheck={false}
      onInput={(event) => onValue(event.currentTarget.value)}
    />
  );
}
