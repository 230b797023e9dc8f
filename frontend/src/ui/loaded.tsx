// What is there once a blob is decoded; until then nothing, since that takes a few milliseconds.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Empty } from "./parts";

type State<T> = { value?: T; error?: string };

export function useLoaded<T>(load: () => Promise<T>, key: string): State<T> {
  const [state, setState] = useState<State<T> & { key: string }>({ key: "" });
  useEffect(() => {
    let isCurrent = true;
    load().then(
      (value) => isCurrent && setState({ key, value }),
      (error: unknown) => isCurrent && setState({ key, error: error instanceof Error ? error.message : String(error) }),
    );
    return () => {
      isCurrent = false;
    };
  }, [key]);
  return state.key === key ? state : {};
}

export function Loaded<T>(props: {
  load: () => Promise<T>;
  of: string;
  children: (value: T) => ComponentChildren;
}): JSX.Element | null {
  const { value, error } = useLoaded(props.load, props.of);
  if (error !== undefined) return <Empty title="Not in this page">{error}</Empty>;
  return value === undefined ? null : <>{props.children(value)}</>;
}
