import type { Broadcast } from '@svc/client'
import { useEffect, useRef } from 'preact/hooks'
import { Badge, Time } from '../../parts/index.ts'
import { count, number } from '../../shell/format.ts'
import { useLiveReload } from '../../shell/live.ts'
import { t } from '../../shell/text.ts'
import { wordOf } from '../../shell/words.ts'
import { Progress } from '../bulks/progress.tsx'

const TONES = {
  draft: 'plain',
  scheduled: 'busy',
  running: 'busy',
  paused: 'warn',
  finished: 'good',
  canceled: 'plain',
} as const

/** The status of a broadcast as a badge. */
export function BroadcastState({ status }: Pick<Broadcast, 'status'>) {
  return <Badge tone={TONES[status]}>{wordOf(status)}</Badge>
}

/** The part of the audience that had its turn; only the number, if the size of the audience is not known. */
export function Turns({ status, counts: { audience, contacts } }: Broadcast) {
  const of = status === 'finished' ? contacts : audience
  if (!of) return <>{status === 'finished' || contacts > 0 ? number(contacts) : '–'}</>
  return <Progress of={of} left={Math.max(0, of - contacts)} />
}

/** The name of a broadcast: its own, or that of its template. */
export const titleOf = ({ name, template }: Broadcast) => name ?? template.name

/** How many messages go when. `since`: what is due before it goes at once. */
export function Departures({
  of,
  since,
}: {
  of: NonNullable<Broadcast['departures']>
  since: string | number
}) {
  return (
    <ul>
      {of.map(({ at, messages, time_zones }) => (
        <li key={at}>
          {new Date(at) <= new Date(since) ? <b>{t('at once')}</b> : <Time at={at} exact />}
          <small class="line">
            {count(messages, 'message')}: {time_zones.join(', ')}
          </small>
        </li>
      ))}
    </ul>
  )
}

/** Whether a broadcast goes on by itself. */
export const isOpen = ({ status }: Broadcast) => status === 'running' || status === 'scheduled'

const EVERY_MS = 3_000
/** The service counts the results of a broadcast anew for each request, so that those of a large one are asked for less often. */
const MESSAGES_PER_MS = 20

/**
 * Loads again after changes of broadcasts and of their messages. The service reports no step, so that an open broadcast is also
 * asked for from time to time while the tab is shown. `messages`: the number that a request counts.
 */
export function useProgress(
  reload: () => void,
  { isOpen, messages = 0 }: { isOpen: boolean; messages?: number },
): void {
  const latest = useRef(reload)
  latest.current = reload
  const every_ms = EVERY_MS + Math.ceil(messages / MESSAGES_PER_MS / 1_000) * 1_000
  useLiveReload('', reload, {
    isAbout: ({ event, data }) =>
      event.startsWith('broadcast.') || typeof data.bulk_id === 'string',
    every_ms,
  })
  useEffect(() => {
    if (!isOpen) return
    const timer = setInterval(() => document.hidden || latest.current(), every_ms)
    return () => clearInterval(timer)
  }, [isOpen, every_ms])
}
