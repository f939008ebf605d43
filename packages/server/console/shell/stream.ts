import { signal } from '@preact/signals'
import { loadSession } from './session.ts'

/** How long the console waits after an answer that is no stream; after a lost connection the browser itself connects again. */
const RETRY_MS = 5_000

/** The number of streams whose connection is lost. */
export const lostStreams = signal(0)

/**
 * Receives server-sent events until the returned function is called, also after the connection was lost. `on`: the listeners by
 * the name of the event. `onOpen` is called with each connection, also the first: events before it may be missing, so load the
 * data again.
 */
export function openStream(
  url: string,
  on: Readonly<Record<string, (data: string) => void>>,
  onOpen: () => void,
): () => void {
  let source: EventSource
  let timer: ReturnType<typeof setTimeout> | undefined
  let isLost = false
  let hasOpened = false

  function mark(next: boolean): void {
    if (next !== isLost) lostStreams.value += next ? 1 : -1
    isLost = next
  }

  function connect(): void {
    source = new EventSource(url)
    source.onopen = () => {
      mark(false)
      hasOpened = true
      onOpen()
    }
    source.onerror = () => {
      mark(hasOpened)
      if (source.readyState !== EventSource.CLOSED) return
      // The session may have ended; the stream is then closed from outside.
      void loadSession().catch(() => {})
      timer = setTimeout(connect, RETRY_MS)
    }
    for (const [name, listener] of Object.entries(on)) {
      source.addEventListener(name, ({ data }) => listener(data))
    }
  }

  connect()
  return () => {
    clearTimeout(timer)
    source.close()
    mark(false)
  }
}
