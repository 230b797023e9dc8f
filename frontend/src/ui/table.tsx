// A table that stays quick with many rows: only those in sight are there, and all of them when it is printed.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { go } from "../router";
import { useKeys } from "./keys";

export interface Column<T> {
  key: string;
  title: string;
  cell: (row: T) => ComponentChildren;
  /** What the column is sorted by; without it, it can't be. */
  by?: (row: T) => number | string | boolean;
  /** Numbers are set right. */
  right?: boolean;
  /** In rem; columns without one share the rest. */
  width?: number;
  hint?: string;
}

interface Props<T> {
  label: string;
  rows: T[];
  columns: Column<T>[];
  id: (row: T) => string;
  /** Where a row leads. */
  href?: (row: T) => string | undefined;
  /** "key" or "-key" (largest first), from the address. */
  sort?: string | undefined;
  onSort?: (sort: string) => void;
  onHover?: (row: T | null) => void;
  /** The id of the row that is marked. */
  marked?: string | undefined;
  empty?: ComponentChildren;
}

// Rows in sight and these above and below; a shorter table has all of its rows.
const MARGIN = 20;
const SHORT = 120;

export function Table<T>(props: Props<T>): JSX.Element {
  const { columns, id, href, marked } = props;
  const [own, setOwn] = useState(props.sort ?? "");
  const sort = props.onSort ? (props.sort ?? "") : own;
  const rows = useMemo(() => sorted(props.rows, columns, sort), [props.rows, sort]);
  const body = useRef<HTMLTableSectionElement>(null);
  const [from, to, height] = useRange(body, rows.length);
  const [current, setState] = useState(-1);
  // Two keys may come before the row is drawn anew.
  const latest = useRef(-1);
  const setCurrent = (row: number): void => setState((latest.current = row));
  const wanted = useRef(false);

  useLayoutEffect(() => {
    if (!wanted.current) return;
    wanted.current = false;
    const row = body.current?.querySelector<HTMLElement>(`tr[data-row="${current}"]`);
    row?.focus({ preventScroll: true });
    row?.scrollIntoView({ block: "nearest" });
  });
  const move = (to: number): boolean => {
    if (!rows.length) return false;
    wanted.current = true;
    const next = Math.max(0, Math.min(rows.length - 1, to));
    if (height) revealRow(body.current!, next, height);
    setCurrent(next);
    return true;
  };
  useKeys({
    element: () => body.current,
    key: (key) => {
      if (key === "j" || key === "ArrowDown") return move(latest.current + 1);
      if (key === "k" || key === "ArrowUp") return move(latest.current - 1);
      const there =
        key === "Enter" &&
        body.current?.contains(document.activeElement) &&
        rows[latest.current] &&
        href?.(rows[latest.current]!);
      if (there) go(there);
      return Boolean(there);
    },
  });

  if (!props.rows.length && props.empty) return <>{props.empty}</>;
  return (
    <div class="table-scroll">
      <table aria-label={props.label} aria-rowcount={rows.length + 1} style={{ minWidth: `${minimum(columns)}rem` }}>
        <colgroup>
          {columns.map((column) => (
            <col style={column.width ? { width: `${column.width}rem` } : {}} />
          ))}
        </colgroup>
        <thead>
          <tr>
            {columns.map((column) => (
              <Head column={column} sort={sort} onSort={props.onSort ?? setOwn} />
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          {from > 0 && <Spacer rows={from} height={height} columns={columns.length} />}
          {rows.slice(from, to).map((row, k) => (
            <tr
              key={id(row)}
              data-row={from + k}
              aria-rowindex={from + k + 2}
              tabIndex={from + k === Math.max(current, 0) ? 0 : -1}
              class={id(row) === marked ? "marked" : undefined}
              onFocus={() => setCurrent(from + k)}
              onMouseEnter={props.onHover && (() => props.onHover!(row))}
              onMouseLeave={props.onHover && (() => props.onHover!(null))}
            >
              {columns.map((column) => (
                <td class={column.right ? "right" : undefined}>{column.cell(row)}</td>
              ))}
            </tr>
          ))}
          {to < rows.length && <Spacer rows={rows.length - to} height={height} columns={columns.length} />}
        </tbody>
      </table>
    </div>
  );
}

function Head<T>({
  column,
  sort,
  onSort,
}: {
  column: Column<T>;
  sort: string;
  onSort: (sort: string) => void;
}): JSX.Element {
  const { key, title } = column;
  const state = sort === key ? "ascending" : sort === `-${key}` ? "descending" : "none";
  // Numbers are looked at from the largest on.
  const next = column.right ? (state === "descending" ? key : `-${key}`) : state === "ascending" ? `-${key}` : key;
  return (
    <th
      scope="col"
      class={column.right ? "right" : undefined}
      aria-sort={column.by ? state : undefined}
      title={column.hint}
    >
      {column.by ? (
        <button type="button" onClick={() => onSort(next)}>
          {title}
          <span aria-hidden="true" class="arrow">
            {state === "ascending" ? "↑" : state === "descending" ? "↓" : ""}
          </span>
        </button>
      ) : (
        title
      )}
    </th>
  );
}

function Spacer({ rows, height, columns }: { rows: number; height: number; columns: number }): JSX.Element {
  return (
    <tr aria-hidden="true" class="spacer">
      <td colSpan={columns} style={{ height: `${rows * height}px` }} />
    </tr>
  );
}

function minimum<T>(columns: Column<T>[]): number {
  return columns.reduce((sum, column) => sum + (column.width ?? 10), 0);
}

function sorted<T>(rows: T[], columns: Column<T>[], sort: string): T[] {
  const isDown = sort.startsWith("-");
  const by = columns.find((column) => column.key === sort.replace(/^-/, ""))?.by;
  if (!by) return rows;
  const keyed = rows.map((row, k) => ({ row, k, value: by(row) }));
  const order = (a: (typeof keyed)[0], b: (typeof keyed)[0]): number =>
    (a.value < b.value ? -1 : a.value > b.value ? 1 : 0) * (isDown ? -1 : 1) || a.k - b.k;
  return keyed.sort(order).map(({ row }) => row);
}

/** The rows to draw, and a row's height in pixels (0: all are drawn). */
function useRange(body: { current: HTMLElement | null }, count: number): [number, number, number] {
  const [range, setRange] = useState<[number, number, number]>([0, Math.min(count, SHORT), 0]);
  useEffect(() => {
    if (count <= SHORT) return;
    const height = body.current?.querySelector<HTMLElement>("tr[data-row]")?.offsetHeight || 24;
    let isPrinting = false;
    const look = (): void => {
      if (isPrinting) return;
      const top = body.current?.getBoundingClientRect().top ?? 0;
      const first = Math.max(0, Math.floor(-top / height) - MARGIN);
      const last = Math.min(count, Math.ceil((window.innerHeight - top) / height) + MARGIN);
      setRange((old) =>
        old[0] === first && old[1] === last && old[2] === height ? old : [first, Math.max(first, last), height],
      );
    };
    const print = (event: Event): void => {
      isPrinting = event.type === "beforeprint";
      if (isPrinting) setRange([0, count, height]);
      else look();
    };
    look();
    window.addEventListener("scroll", look, { passive: true });
    window.addEventListener("resize", look);
    window.addEventListener("beforeprint", print);
    window.addEventListener("afterprint", print);
    return () => {
      window.removeEventListener("scroll", look);
      window.removeEventListener("resize", look);
      window.removeEventListener("beforeprint", print);
      window.removeEventListener("afterprint", print);
    };
  }, [count]);
  return count <= SHORT ? [0, count, 0] : range;
}

function revealRow(body: HTMLElement, row: number, height: number): void {
  const top = body.getBoundingClientRect().top + row * height;
  if (top < 80 || top > window.innerHeight - 2 * height) window.scrollBy(0, top - window.innerHeight / 2);
}
