// A setting that is on or off.
import type { JSX } from "preact";

interface Props {
  of: string;
  hint?: string;
  is: boolean;
  set: (is: boolean) => void;
}

export function Toggle({ of, hint, is, set }: Props): JSX.Element {
  return (
    <label class="toggle" title={hint}>
      <input type="checkbox" checked={is} onChange={(event) => set(event.currentTarget.checked)} /> {of}
    </label>
  );
}
