import { backoffMs } from '../../runtime/backoff.ts'
import type { OnAnswer } from './outstanding.ts'
import type { Pdu } from './pdu.ts'
import { type Ending, openSession, type Session } from './session.ts'
import type { BindSettings, Timing } from './settings.ts'
import type { StatusMeaning } from './status-table.ts'
import { statusText } from './status-table.ts'

interface BindEvents {
  /** The free room in the window, or the state of the connection, may have changed. */
  changed(): void
  deliver(pdu: Pdu, answer: (status: number) => void): void
  note(level: 'info' | 'warn' | 'error', text: string, fields: object): void
}

/** A bind to an SMSC. When its connection ends, the bind opens a new one. */
export interface Bind {
  readonly name: string
  state(): 'up' | 'connecting' | 'down'
  /** The state as a text for operators. It never contains the password. */
  detail(): string
  /** Why the SMSC refused the account; null if it did not, or if it has accepted a bind since. */
  refusal(): string | null
  room(): number
  outstanding(): number
  submit(pdu: Buffer, answered: OnAnswer): void
  throttle(): void
  /** Connects again, because the SMSC considers the connection unbound. */
  rebind(): void
  close(grace_ms: number): Promise<void>
}

interface BindParts {
  name: string
  account: BindSettings
  window: number
  timing: Timing
  meaningOf: (status: number) => StatusMeaning
}

/** If a connection ends after a shorter silence, the silence is not the cause. */
const IDLE_MIN_MS = 500
/** If a connection survived this number of silences, a silence did not end it. */
const SILENCES = 10

/** Binds to the SMSC. After each end it waits, longer each time, and binds again, until the caller closes it. */
export function openBind(parts: BindParts, events: BindEvents): Bind {
  const { name, account, window, timing, meaningOf } = parts
  const { base_ms, cap_ms, refused_ms, stable_ms } = timing.reconnect
  let session: Session | null = null
  let timer: NodeJS.Timeout | null = null
  let failures = 0
  let upSince: number | null = null
  let lastEnding: string | null = null
  let refused: string | null = null
  let isClosed = false
  /** The silence before an enquire_link: as configured, or shorter after the SMSC ended a silent connection. */
  let { idle_ms } = timing

  connect()

  function connect(): void {
    timer = null
    session = openSession(
      account,
      { window, timing: { ...timing, idle_ms } },
      { up, down, room: events.changed, deliver: events.deliver },
    )
  }

  function up(): void {
    upSince = performance.now()
    refused = null
    lastEnding = null
    events.note('info', 'SMPP bind is up', { bind: name })
  }

  function down(ending: Ending): void {
    session = null
    const lasted_ms = upSince === null ? 0 : performance.now() - upSince
    const isSilence = ending.idle_ms !== null && ending.idle_ms >= IDLE_MIN_MS
    if (ending.idle_ms !== null && isSilence && lasted_ms < SILENCES * idle_ms) {
      idle_ms = Math.min(idle_ms, Math.max(IDLE_MIN_MS, ending.idle_ms / 2))
    }
    const { text, isRefusal } = endingOf(ending)
    refused = isRefusal ? text : null
    // The waits also grow for an account that the SMSC disconnects right after the bind.
    if (upSince !== null && performance.now() - upSince >= stable_ms) failures = 0
    failures++
    upSince = null
    if (!isClosed) {
      const wait_ms = Math.max(
        backoffMs(failures, { base_ms, cap_ms }, timing.random),
        isRefusal ? refused_ms : 0,
      )
      timer = setTimeout(connect, wait_ms)
      // Repeated ends for the same reason are reported once.
      if (text !== lastEnding) {
        const level = isRefusal ? 'error' : 'warn'
        events.note(level, 'SMPP bind is down', { bind: name, reason: text })
      }
    }
    lastEnding = text
    events.changed()
  }

  function endingOf({ reason, status }: Ending): { text: string; isRefusal: boolean } {
    if (status === null) return { text: reason, isRefusal: false }
    const meaning = meaningOf(status)
    return { text: statusText(status, meaning), isRefusal: meaning.class === 'provider' }
  }

  return {
    name,
    state() {
      if (session?.isBound()) return 'up'
      return session ? 'connecting' : 'down'
    },
    detail() {
      if (session?.isBound()) return `${session.outstanding()} of ${window} outstanding`
      return lastEnding ?? (session ? 'connecting' : 'closed')
    },
    refusal: () => refused,
    room: () => session?.room() ?? 0,
    outstanding: () => session?.outstanding() ?? 0,
    submit: (pdu, answered) => (session as Session).submit(pdu, answered),
    throttle: () => session?.throttle(),
    rebind() {
      // Waits for the answers to outstanding PDUs, because without an answer the outcome of a PDU stays unknown.
      if (session?.isBound()) void session.end(timing.response_ms, 'the SMSC lost the bind')
    },
    async close(grace_ms) {
      isClosed = true
      if (timer) clearTimeout(timer)
      await session?.end(grace_ms, 'closed')
    },
  }
}
