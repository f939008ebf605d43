import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { credits, exactTime, number, relativeTime } from '../shell/format.ts'
import { wordOf } from '../shell/words.ts'

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

/** Credits with their unit, or an amount of a currency. A debit has a minus sign. */
export function Money({ credits: amount, signed = false }: { credits: number; signed?: boolean }) {
  const sign = amount > 0 && signed ? '+' : amount < 0 ? '−' : ''
  return (
    <span class="money" title={`${sign}${number(Math.abs(amount))}`}>
      {sign}
      {credits(Math.abs(amount))}
    </span>
  )
}

/** Names and values below each other; a value of null, undefined or false is left out. */
export function Facts({ of }: { of: Record<string, ComponentChildren> }) {
  return (
    <dl class="facts">
      {Object.entries(of)
        .filter(([, value]) => value !== null && value !== undefined && value !== false)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd dir="auto">{value}</dd>
          </div>
        ))}
    </dl>
  )
}

type Tone = 'good' | 'bad' | 'busy' | 'warn' | 'plain'

/** A short state with a colour; the text alone says the state too. */
export function Badge({ tone = 'plain', children }: { tone?: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>
}

const TONES: Record<string, Tone> = {
  delivered: 'good',
  read: 'good',
  sent: 'busy',
  queued: 'plain',
  failed: 'bad',
  mostly_failed: 'bad',
  partly_canceled: 'warn',
  succeeded: 'good',
  completed: 'good',
  paid: 'good',
  active: 'good',
  enabled: 'good',
  verified: 'good',
  approved: 'good',
  pending: 'busy',
  processing: 'busy',
  disabled: 'warn',
  failing: 'bad',
  expired: 'warn',
}

/** The badge of a status of the API. */
export function StatusBadge({ status }: { status: string }) {
  return <Badge tone={TONES[status] ?? 'plain'}>{wordOf(status)}</Badge>
}
