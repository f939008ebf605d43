import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { hrefOf } from '../shell/router.ts'
import { t } from '../shell/text.ts'

/** A column of a table. */
export interface Column<Row> {
  /** The heading; on a phone the name beside the value. */
  name: string
  value(row: Row): ComponentChildren
  /** `main`: the first line of the card on a phone. `number`: right-aligned. `wide`: may be long and is cut. */
  kind?: 'main' | 'number' | 'wide'
}

/** A table and its rows. */
export interface TableProps<Row> {
  /** The name of the table for screen readers. */
  label: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf(row: Row): string
  to?: (row: Row) => string
  actions?: (row: Row) => ComponentChildren
  /** The key of the row whose details are shown. */
  current?: string | undefined
}

/**
 * Rows as a table, on a phone as cards. With `to` a row is a link to its page below the console: a click and Enter open it, and
 * the arrow keys go from row to row. With `actions` a row has buttons at its end.
 */
export function Table<Row>({ label, columns, rows, keyOf, to, actions, current }: TableProps<Row>) {
  const box = useRef<HTMLDivElement>(null)
  // A table that is wider than its place scrolls, so the keyboard must reach it. WCAG 2.1.1.
  useLayoutEffect(() => {
    const element = box.current as HTMLDivElement
    const look = () => {
      if (element.scrollWidth > element.clientWidth) element.tabIndex = 0
      else element.removeAttribute('tabindex')
    }
    look()
    const watch = new ResizeObserver(look)
    for (const one of [element, ...element.children]) watch.observe(one)
    return () => watch.disconnect()
  }, [])
  return (
    <div class="table-box" ref={box}>
      <table aria-label={label} class={to ? 'linked' : ''}>
        <thead>
          <tr>
            {columns.map(({ name, kind = '' }) => (
              <th key={name} scope="col" class={kind}>
                {name}
              </th>
            ))}
            {actions && (
              <th scope="col">
                <span class="unseen">{t('Actions')}</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody onKeyDown={moveFocus}>
          {rows.map((row) => {
            const key = keyOf(row)
            return (
              <tr
                key={key}
                aria-current={key === current ? 'true' : undefined}
                onClick={to && openLink}
              >
                {columns.map(({ name, value, kind = '' }, i) => (
                  <td key={name} data-name={name} class={kind}>
                    {/* The value may be a text of a person, in any direction. */}
                    <bdi>
                      {to && i === 0 ? <a href={hrefOf(to(row))}>{value(row)}</a> : value(row)}
                    </bdi>
                  </td>
                ))}
                {actions && <td class="row-actions">{actions(row)}</td>}
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}

/** A click anywhere in the row opens its link, except on a control or a selected text. */
function openLink(event: MouseEvent & { currentTarget: HTMLTableRowElement }): void {
  const isControl = (event.target as Element).closest('a, button, input, label, select')
  if (isControl || getSelection()?.toString()) return
  const link = event.currentTarget.querySelector('a')
  // A drawer returns the focus to it.
  link?.focus()
  link?.click()
}

function moveFocus(event: KeyboardEvent): void {
  const step = { ArrowDown: 'nextElementSibling', ArrowUp: 'previousElementSibling' } as const
  const way = step[event.key as keyof typeof step]
  const row = (event.target as Element).closest('tr')
  const link = way && row?.[way]?.querySelector('a')
  if (!link) return
  event.preventDefault()
  link.focus()
}
