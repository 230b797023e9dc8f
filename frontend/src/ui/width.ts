// The width of an element in pixels, as it changes.
import { useLayoutEffect, useRef, useState } from "preact/hooks";

export function useWidth(): [{ current: HTMLElement | null }, number] {
  const root = useRef<HTMLElement>(null);
  const [width, setWidth] = useState(800);
  useLayoutEffect(() => {
    const element = root.current;
    if (!element) return;
    const look = (): void => setWidth(Math.max(280, element.clientWidth));
    look();
    const observer = new ResizeObserver(look);
    observer.observe(element);
    return () => observer.disconnect();
  }, [root.current]);
  return [root, width];
}
