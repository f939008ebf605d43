import type { ComponentChildren } from 'preact'
import { Dialog } from './dialog.tsx'

/** Details at the right edge of a list; on a phone the whole screen. Esc closes it. */
export function Drawer(props: {
  title: ComponentChildren
  children: ComponentChildren
  actions?: ComponentChildren
  onClose(): void
}) {
  return <Dialog {...props} side />
}
