import { signal } from '@preact/signals'

/** What lies over the page: the palette of pages and actions, or the list of keys; null for nothing. */
export const overlay = signal<'palette' | 'shortcuts' | null>(null)

/** Whether the keyboard of the browser's system has ⌘ in place of Ctrl. */
export const isApple = /Mac|iPhone|iPad/.test(navigator.platform)
