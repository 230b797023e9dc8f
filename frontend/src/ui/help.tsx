// The keys, over the page.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface Props {
  places: { section: string; key: string }[];
  keys: [string, string][];
  onClose: () => void;
}

const COMMON: [string, string][] = [
  ["/", "filter, or search"],
  ["j  k", "next and previous row"],
  ["Enter", "open the row"],
  ["Esc", "leave a field, close this"],
  ["?", "this"],
];

export function Help({ places, keys, onClose }: Props): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const rows = [...COMMON, ...keys, ...places.map(({ section, key }): [string, string] => [`g ${key}`, section])];
  return (
    <dialog
      ref={dialog}
      aria-label="keys"
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && onClose()}
    >
      <h2>Keys</h2>
      <dl class="keys">
        {rows.map(([key, does]) => (
          <>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </>
        ))}
      </dl>
    </dialog>
  );
}
