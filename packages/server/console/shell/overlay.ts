import { signal } from '@preact/signals'

/** What lies over the page: the palette of pages and actions, or the list of keys. */
export type Overlay = 'palette' | 'shortcuts'

/** The shown overlay; null for none. */
export const overlay = signal<Overlay | null>(null)

/** What was typed for the palette before it was shown. */
export const early = { text: '' }

/** Whether the keyboard of the browser's system has ⌘ in place of Ctrl. */
export const isApple = /Mac|iPhone|iPad/.test(navigator.platform)
