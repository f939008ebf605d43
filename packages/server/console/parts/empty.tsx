import type { ComponentChildren } from 'preact'
import { Icon } from './icon.tsx'

/** A list without rows: says why, and offers the next step. */
export function Empty({
  icon = 'empty',
  title,
  children,
}: {
  icon?: string
  title: string
  children?: ComponentChildren
}) {
  return (
    <div class="empty">
      <Icon name={icon} />
      <h3>{title}</h3>
      {children && <div class="empty-text">{children}</div>}
    </div>
  )
}
