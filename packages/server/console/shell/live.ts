import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { base } from './facts.ts'
import { chosenWorkspace, may, mode, session } from './session.ts'

/** An event of the workspace, with the body that a webhook gets. */
export interface LiveEvent {
  event: string
  data: Record<string, unknown>
  id: string
  created_at: string
}

/** Whether events arrive: `connecting` also after the connection broke. */
export const liveState = signal<'off' | 'connecting' | 'live'>('off')

const resets = new Set<() => void>()
const listeners = new Set<(event: LiveEvent) => void>()
let source: EventSource | null = null
let openFor = ''

/** Opens the stream while a page listens, and closes it when none does or the workspace changes. */
function adjust(): void {
  const { value } = session
  const workspace = chosenWorkspace.value ?? value?.workspace_id ?? ''
  // A role that reads no messages gets no events of them.
  const isOpen = listeners.size > 0 && may('read')
  const wanted = isOpen ? `${workspace} ${mode.value}` : ''
  if (wanted === openFor) return
  source?.close()
  source = null
  openFor = wanted
  liveState.value = wanted === '' ? 'off' : 'connecting'
  if (wanted === '') return
  const query = new URLSearchParams({ workspace, mode: mode.value })
  source = new EventSource(`${base}/api/stream?${query}`)
  source.onopen = () => {
    liveState.value = 'live'
  }
  source.onerror = () => {
    liveState.value = 'connecting'
  }
  // Events are missing: every listener loads its data again.
  source.addEventListener('reset', () => {
    for (const again of resets) again()
  })
  source.addEventListener('event', ({ data }) => {
    const event = JSON.parse(data) as LiveEvent
    for (const listener of listeners) listener(event)
  })
}

session.subscribe(adjust)
chosenWorkspace.subscribe(adjust)
mode.subscribe(adjust)

/**
 * Calls `listener` with each event of the workspace whose name begins with `start`, while the page is shown:
 * `useLive('message.', () => load.reload())`.
 */
export function useLive(
  start: string,
  listener: (event: LiveEvent) => void,
  onReset?: () => void,
): void {
  useEffect(() => {
    const listen = (event: LiveEvent) => {
      if (event.event.startsWith(start)) listener(event)
    }
    listeners.add(listen)
    if (onReset) resets.add(onReset)
    adjust()
    return () => {
      listeners.delete(listen)
      if (onReset) resets.delete(onReset)
      adjust()
    }
  })
}

/** A stream of events would otherwise load a list with each of them. */
const RELOAD_EVERY_MS = 1_000

/** Loads again after an event whose name begins with `start`: at once, but at most once a second. */
export function useLiveReload(start: string, reload: () => void): void {
  const state = useRef<{ timer?: ReturnType<typeof setTimeout> | undefined; isDue?: boolean }>({})
  const soon = () => {
    const { current } = state
    current.isDue = current.timer !== undefined
    if (current.isDue) return
    reload()
    current.timer = setTimeout(() => {
      current.timer = undefined
      if (current.isDue) soon()
    }, RELOAD_EVERY_MS)
  }
  useLive(start, soon, reload)
}
