import type { Bind } from './bind.ts'
import type { Answer } from './outstanding.ts'
import type { StatusMeaning } from './status-table.ts'
import type { PartResult } from './verdict.ts'

/** The maximum number of PDUs that wait for room in a window. */
const QUEUE_MAX = 4096
const SWEEP_MS = 100

type Unwritten = Extract<PartResult, { type: 'unwritten' }>

/** Called like `OnAnswer`, or once with `Unwritten` for a PDU that will not be written. */
export type OnResult = (result: Exclude<Answer, { type: 'unsent' }> | Unwritten) => void

interface Terms {
  /** The time of `performance.now()` at which an unwritten PDU is given up. */
  write_by: number
  /** Whether a part of its message was accepted. Such a PDU is not held back. */
  is_begun: () => boolean
}

interface Queued extends Terms {
  pdu: Buffer
  done: OnResult
}

/** What the pool asks about its SMSC. */
interface PoolContext {
  meaningOf: (status: number) => StatusMeaning
  /** Whether a message may begin now; asked before its first PDU is written. */
  may_start: () => boolean
}

/** Distributes PDUs over binds. Of the binds with room, the one with the fewest outstanding PDUs gets the next PDU. */
export function createPool(binds: readonly Bind[], { meaningOf, may_start }: PoolContext) {
  let queue: Queued[] = []
  let mayStart: boolean | null = null
  let sweeping: NodeJS.Timeout | null = null
  let isClosed = false

  /** Asks once for all PDUs that are handled without an interruption: it reads the time of the machine from a file. */
  function mayBegin(): boolean {
    if (mayStart === null) {
      mayStart = may_start()
      queueMicrotask(() => {
        mayStart = null
      })
    }
    return mayStart
  }

  const isHeld = ({ is_begun }: Terms) => !mayBegin() && !is_begun()

  function pump(): void {
    while (queue.length > 0) {
      const bind = roomiest()
      if (!bind) break
      const next = queue.shift() as Queued
      const { pdu, write_by, done } = next
      // If the process was suspended, there may be room before the sweep has removed overdue PDUs.
      if (write_by <= performance.now()) done(busy())
      else if (isHeld(next)) done(PAUSED)
      else write(bind, pdu, done)
    }
    if (queue.length > 0 && !isUp()) giveUp(() => true, unconnected())
    if (queue.length > 0) sweeping ??= setInterval(sweep, SWEEP_MS)
    else stopSweeping()
  }

  function write(bind: Bind, pdu: Buffer, done: OnResult): void {
    bind.submit(pdu, (answer) => {
      if (answer.type === 'answered' && answer.status !== 0) {
        const meaning = meaningOf(answer.status)
        if (meaning.class === 'throttled') bind.throttle()
        if (meaning.class === 'rebind') bind.rebind()
      }
      done(answer.type === 'unsent' ? unsent(answer.reason) : answer)
    })
  }

  function roomiest(): Bind | null {
    let best: Bind | null = null
    for (const bind of binds) {
      if (bind.room() > 0 && (!best || bind.outstanding() < best.outstanding())) best = bind
    }
    return best
  }

  function isUp(): boolean {
    return !isClosed && binds.some((bind) => bind.state() === 'up')
  }

  function unconnected(): Unwritten {
    const refusals = binds.map((bind) => bind.refusal())
    const refusal = refusals.every((one) => one !== null) ? refusals[0] : null
    if (isClosed || !refusal) return NOT_CONNECTED
    const error_code = 'provider_unauthorized'
    return { type: 'unwritten', error_code, reason: refusal, misconfigured: 'provider' }
  }

  /** With no submission outstanding, there was no room because the SMSC gave no sign of life. */
  function busy(): Unwritten {
    const isFull = binds.some((bind) => bind.outstanding() > 0)
    return isFull ? { ...BUSY, not_begun: true } : BUSY
  }

  function sweep(): void {
    const now = performance.now()
    giveUp(({ write_by }) => write_by <= now, busy())
    giveUp(isHeld, PAUSED)
    if (queue.length === 0) stopSweeping()
  }

  function giveUp(isMeant: (one: Queued) => boolean, why: Unwritten): void {
    const meant = queue.filter(isMeant)
    if (meant.length === 0) return
    queue = queue.filter((one) => !isMeant(one))
    for (const { done } of meant) done(why)
  }

  function stopSweeping(): void {
    if (sweeping) clearInterval(sweeping)
    sweeping = null
  }

  return {
    /** The room or the state of a bind may have changed. */
    changed: pump,
    submit(pdu: Buffer, terms: Terms, done: OnResult): void {
      const isFull = queue.length >= QUEUE_MAX
      if (!isUp() || isFull) {
        done(isFull ? busy() : unconnected())
        return
      }
      queue.push({ pdu, ...terms, done })
      pump()
    },
    /** Stops writing. Gives up the PDUs in the queue. */
    close(): void {
      isClosed = true
      giveUp(() => true, NOT_CONNECTED)
      stopSweeping()
    },
  }
}

export type Pool = ReturnType<typeof createPool>

export const NOT_CONNECTED: Unwritten = {
  type: 'unwritten',
  error_code: 'not_connected',
  reason: 'No connection to the SMSC is up',
}

/** The connection ended, or its SMSC stopped reading, before the PDU was written. */
const unsent = (reason: string): Unwritten => ({
  type: 'unwritten',
  error_code: 'not_connected',
  reason,
})

const PAUSED: Unwritten = {
  type: 'unwritten',
  error_code: 'paused',
  reason: 'Sending is paused',
  not_begun: true,
}

const BUSY: Unwritten = {
  type: 'unwritten',
  error_code: 'provider_unavailable',
  reason: 'The windows of all connections were full for too long',
}
