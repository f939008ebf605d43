import { useEffect } from 'preact/hooks'
import { Palette } from '../pages/overlays/palette.tsx'
import { Shortcuts } from '../pages/overlays/shortcuts.tsx'
import { isApple, overlay } from './overlay.ts'
import { sideStep } from './text.ts'

/** Keys of fields and of the browser keep their meaning. */
function isTyping(target: EventTarget | null): boolean {
  return !!(target as Element | null)?.closest?.('input, textarea, select, [contenteditable]')
}

/** The links of the rows of the first list of the page. */
function rowLinks(): HTMLElement[] {
  const table = document.querySelector('main table.linked')
  return [...(table?.querySelectorAll<HTMLElement>('tbody tr > :first-child a') ?? [])]
}

function focusRow(step: 1 | -1): void {
  const links = rowLinks()
  const at = links.findIndex((link) => link.closest('tr')?.contains(document.activeElement))
  const next = at < 0 ? (step > 0 ? 0 : links.length - 1) : at + step
  links[next]?.focus()
}

/** Shows the record of the next row in the open drawer. */
function openNext(step: number): boolean {
  const links = rowLinks()
  const at = links.findIndex((link) => link.closest('tr')?.getAttribute('aria-current'))
  const next = at < 0 ? undefined : links[at + step]
  next?.click()
  return next !== undefined
}

function onKey(event: KeyboardEvent): void {
  const { key, target } = event
  if (event.defaultPrevented || event.isComposing) return
  const dialogs = document.querySelectorAll('dialog[open]')
  const isFree = dialogs.length === 0
  if (key.toLowerCase() === 'k' && (isApple ? event.metaKey : event.ctrlKey)) {
    if (!isFree || event.shiftKey || event.altKey) return
    event.preventDefault()
    overlay.value = 'palette'
    return
  }
  if (event.metaKey || event.ctrlKey || event.altKey) return
  if (isTyping(target)) return
  if (isFree && key === '?') {
    event.preventDefault()
    overlay.value = 'shortcuts'
  } else if (isFree && (key === 'j' || key === 'k')) {
    focusRow(key === 'j' ? 1 : -1)
  } else if (dialogs.length === 1 && dialogs[0]?.matches('.drawer')) {
    // Tabs and texts that scroll have the arrow keys.
    if ((target as Element).closest('[role=tablist], pre, iframe')) return
    const step = { j: 1, k: -1 }[key] ?? sideStep(key)
    if (step && openNext(step)) event.preventDefault()
  }
}

const OVERLAYS = { palette: Palette, shortcuts: Shortcuts }

/** The keys of all pages, and what they open. The layout has it once. */
export function Keys() {
  useEffect(() => {
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  const Shown = overlay.value && OVERLAYS[overlay.value]
  if (!Shown) return null
  return (
    <Shown
      onClose={() => {
        overlay.value = null
      }}
    />
  )
}
