import { useEffect, useRef } from 'preact/hooks'
import { base } from '../../shell/facts.ts'
import { choiceHeaders } from '../../shell/session.ts'
import { openStream } from '../../shell/stream.ts'

/** Calls `listener` with each event of the tools, and `onOpen` when events before may be missing. */
export function useToolEvents(
  event: 'request' | 'mail',
  listener: (data: string) => void,
  onOpen: () => void,
): void {
  const latest = useRef({ listener, onOpen })
  latest.current = { listener, onOpen }
  useEffect(
    () =>
      openStream(addressOf('/stream'), { [event]: (data) => latest.current.listener(data) }, () =>
        latest.current.onOpen(),
      ),
    [],
  )
}

/** The address of a file or a stream of the tools: a frame and a link send no headers, so the choice is in the query. */
export function addressOf(path: string): string {
  const { 'x-svc-mode': mode = 'live', 'x-svc-workspace': workspace } = choiceHeaders()
  const choice = new URLSearchParams({ mode, ...(workspace && { workspace }) })
  return `${base}/api/dev${path}?${choice}`
}
