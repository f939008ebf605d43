import { signal } from '@preact/signals'
import { exactTime, relativeTime } from '../shell/format.ts'

const EVERY_MS = 10_000
const now = signal(Date.now())
setInterval(() => {
  now.value = Date.now()
}, EVERY_MS)

/** A time relative to now, with the exact time in its title. `exact`: shows the exact time. */
export function Time({ at, exact = false }: { at: string | Date; exact?: boolean }) {
  const text = exactTime(at)
  return (
    <time dateTime={new Date(at).toISOString()} title={text}>
      {exact ? text : relativeTime(at, Math.max(now.value, Date.now()))}
    </time>
  )
}
