import { useEffect, useRef } from 'preact/hooks'
import { base } from './facts.ts'
import { chosenWorkspace, may, mode, session } from './session.ts'
import { openStream } from './stream.ts'

/** An event of the workspace, with the body that a webhook gets. */
interface LiveEvent {
  event: string
  data: Record<string, unknown>
  id: string
  created_at: string
}

const resets = new Set<() => void>()
const listeners = new Set<(event: LiveEvent) => void>()
let close = () => {}
let openFor = ''

function loadAgain(): void {
  for (const again of resets) again()
}

/** How long the stream stays open when no page listens. */
const IDLE_MS = 1_000

/** Opens the stream while a page listens, and closes it when none does or the workspace changes. */
function adjust(): void {
  const { value } = session
  const workspace = chosenWorkspace.value ?? value?.workspace_id ?? ''
  // A role that reads no messages gets no events of them.
  const isWanted = listeners.size > 0 && may('read')
  const wanted = isWanted ? `${workspace} ${mode.value}` : ''
  if (wanted === openFor) return
  close()
  close = () => {}
  openFor = wanted
  if (wanted === '') return
  const query = new URLSearchParams({ workspace, mode: mode.value })
  close = openStream(
    `${base}/api/stream?${query}`,
    {
      // Events are missing: every listener loads its data again.
      reset: loadAgain,
      event(data) {
        const event = JSON.parse(data) as LiveEvent
        for (const listener of listeners) listener(event)
      },
    },
    loadAgain,
  )
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
  const latest = useRef({ listener, onReset })
  latest.current = { listener, onReset }
  useEffect(() => {
    const listen = (event: LiveEvent) => {
      if (event.event.startsWith(start)) latest.current.listener(event)
    }
    const reset = () => latest.current.onReset?.()
    listeners.add(listen)
    resets.add(reset)
    adjust()
    return () => {
      listeners.delete(listen)
      resets.delete(reset)
      // The next page probably listens too.
      setTimeout(adjust, IDLE_MS)
    }
  }, [start])
}

/** At most 20 reloads a minute for a page, whatever the number of events: a person may make 600 requests in it. */
const RELOAD_EVERY_MS = 3_000

/**
 * Loads again after events whose name begins with `start`: at once after the first event, then at most once in `every_ms`.
 * `isAbout` selects among the events.
 */
export function useLiveReload(
  start: string,
  reload: () => void,
  {
    isAbout = () => true,
    every_ms = RELOAD_EVERY_MS,
  }: { isAbout?: (event: LiveEvent) => boolean; every_ms?: number } = {},
): void {
  const latest = useRef(reload)
  latest.current = reload
  const last_ms = useRef(0)
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null)
  useEffect(() => () => clearTimeout(timer.current ?? undefined), [])
  useLive(
    start,
    (event) => {
      if (timer.current !== null || !isAbout(event)) return
      const wait_ms = Math.max(0, last_ms.current + every_ms - Date.now())
      timer.current = setTimeout(() => {
        timer.current = null
        last_ms.current = Date.now()
        latest.current()
      }, wait_ms)
    },
    () => latest.current(),
  )
}
