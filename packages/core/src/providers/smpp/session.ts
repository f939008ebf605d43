import { EventEmitter, once } from 'node:events'
import { type Connection, NOTHING, openConnection } from './connection.ts'
import { createOutstanding, type OnAnswer } from './outstanding.ts'
import { ANSWER, bindTransceiver, COMMAND, encodePdu, type Pdu } from './pdu.ts'
import type { BindSettings, Timing } from './settings.ts'
import { STATUS } from './status-table.ts'

/** Why a connection ended. */
export interface Ending {
  reason: string
  /** The status with which the SMSC refused the bind; null if it did not refuse. */
  status: number | null
  /** The silence before the end, if the SMSC ended a connection on which nothing was in flight; else null. */
  idle_ms: number | null
}

interface SessionEvents {
  /** The session is bound. */
  up(): void
  /** The session ended. Called once, after all outstanding submissions have their results. */
  down(ending: Ending): void
  /** There may be more room. */
  room(): void
  /** The SMSC sent a deliver_sm or a data_sm. The receiver of this event answers it with `answer`. */
  deliver(pdu: Pdu, answer: (status: number) => void): void
}

/** One connection to an SMSC, from its start to its end: SMPP 3.4 sections 2.2 to 2.10. */
export interface Session {
  isBound(): boolean
  /**
   * The number of PDUs that may be submitted now: 0 while the session is not bound, is ending or is throttled. After a
   * silence of the SMSC, this sends an enquire_link and returns 0 until `SessionEvents.room` reports the answer.
   */
  room(): number
  outstanding(): number
  /** Writes a submit_sm. Call it only while `room` is not 0. */
  submit(pdu: Buffer, answered: OnAnswer): void
  /** Pauses sending for `throttle_ms`. */
  throttle(): void
  /**
   * Accepts no more PDUs, waits for outstanding answers of both sides, unbinds and closes. All this takes at most
   * `grace_ms`.
   */
  end(grace_ms: number, reason: string): Promise<void>
}

/** The time in which the SMSC closes the connection after the answer to its unbind. */
const UNBOUND_MS = 1000
/** The maximum number of octets that may wait for the SMSC to read them. */
const UNREAD_MAX = 16 * 1024 * 1024

/** Connects and binds. Never throws: `down` reports a failure. */
export function openSession(
  account: BindSettings,
  { window: size, timing }: { window: number; timing: Timing },
  events: SessionEvents,
): Session {
  const connection = openConnection(account, {
    connected: bind,
    answered,
    delivered,
    unbound: (answer) => void unbound(answer),
    ended(silence_ms) {
      if (isBound() && window.outstanding() === 0) idle_ms = silence_ms
    },
    closed: (failure) => finish(failure ?? closing),
  })
  const isBound = () => phase === 'bound'
  const window = createSendWindow(connection, { size, timing, isBound, roomMade })
  const changes = new EventEmitter()
  let phase: 'connecting' | 'binding' | 'bound' | 'ending' | 'over' = 'connecting'
  let phaseDeadline = performance.now() + timing.connect_ms
  /** The sequence number of the bind, then of the unbind. */
  let ownSequence = 0
  let idle_ms: number | null = null
  /** The number of deliveries that wait for an answer of ours. */
  let unanswered = 0
  let closing = 'closed by the SMSC'
  const tick_ms = Math.max(5, Math.min(250, timing.response_ms / 8, timing.idle_ms / 4))
  const ticking = setInterval(tick, tick_ms)

  function bind(): void {
    phase = 'binding'
    phaseDeadline = performance.now() + timing.response_ms
    ownSequence = window.request(bindTransceiver(account))
  }

  function answered(pdu: Pdu): void {
    const isOwn = pdu.sequence === ownSequence
    if (isOwn && phase === 'binding') bindAnswered(pdu)
    else if (isOwn && phase === 'ending') finish(closing)
    else window.settle(pdu)
  }

  function bindAnswered({ command, status }: Pdu): void {
    if (status !== STATUS.ok || command !== COMMAND.bind_transceiver + ANSWER) {
      finish('the bind was refused', status)
      return
    }
    phase = 'bound'
    events.up()
    events.room()
  }

  function delivered(pdu: Pdu, answer: (status: number) => void): void {
    if (!isBound()) {
      // The session is ending. The SMSC repeats the delivery on the next connection.
      answer(STATUS.temporary_error)
      return
    }
    unanswered++
    events.deliver(pdu, (status) => {
      unanswered--
      answer(status)
      changes.emit('change')
    })
  }

  /**
   * The SMSC unbound: it accepts no more PDUs, so those that are not written yet are taken back. It may still answer earlier
   * ones. Many SMSCs close the connection at the answer to their unbind, so that answer comes last. An SMSC that answers
   * nothing gets it after `response_ms`.
   */
  async function unbound(answer: () => void): Promise<void> {
    phase = 'ending'
    closing = 'unbound by the SMSC'
    window.withdraw(closing)
    await settled(timing.response_ms)
    if (isOver()) return
    answer()
    await changed(changes, Math.min(UNBOUND_MS, timing.response_ms), isOver)
    finish(closing)
  }

  function roomMade(): void {
    if (isBound()) events.room()
    changes.emit('change')
  }

  function tick(): void {
    const now = performance.now()
    const failure = failureAt(now)
    if (failure) finish(failure)
    else window.check(now)
  }

  function failureAt(now: number): string | null {
    if (phase === 'connecting' && now > phaseDeadline) return 'no connection in time'
    if (phase === 'binding' && now > phaseDeadline) return 'no answer to the bind'
    if (window.isEnquiryOverdue(now)) return 'no answer to enquire_link'
    return connection.unread() > UNREAD_MAX ? 'the SMSC reads nothing' : null
  }

  const isOver = () => phase === 'over'

  /** Waits until neither side waits for an answer, at most `ms`. */
  const settled = (ms: number) =>
    changed(changes, ms, () => isOver() || (window.outstanding() === 0 && unanswered === 0))

  async function end(grace_ms: number, reason: string): Promise<void> {
    const until = performance.now() + grace_ms
    if (isBound()) {
      phase = 'ending'
      closing = reason
      await settled(grace_ms)
      if (!isOver()) ownSequence = window.request(encodePdu(COMMAND.unbind, 0, NOTHING))
      await changed(changes, Math.min(timing.response_ms, until - performance.now()), isOver)
    } else if (phase === 'ending') await changed(changes, grace_ms, isOver)
    finish(reason)
  }

  function finish(reason: string, status: number | null = null): void {
    if (phase === 'over') return
    phase = 'over'
    clearInterval(ticking)
    connection.destroy()
    window.close(reason)
    events.down({ reason, status, idle_ms })
    changes.emit('change')
  }

  const { room, outstanding, submit, throttle } = window
  return { isBound, room, outstanding, submit, throttle, end }
}

/** Resolves when `holds` returns true after a change, or when `ms` have passed. */
async function changed(changes: EventEmitter, ms: number, holds: () => boolean): Promise<void> {
  const signal = AbortSignal.timeout(Math.max(0, Math.ceil(ms)))
  while (!holds() && !signal.aborted) await once(changes, 'change', { signal }).catch(() => null)
}

/**
 * After this silence the SMSC must answer an enquire_link before it gets a message. SMSCs and firewalls end idle
 * connections, and firewalls do not report it. The outcome of a submit_sm that was written to such a connection would
 * stay unknown.
 */
const SILENT_MS = 500

interface SendWindowParts {
  size: number
  timing: Timing
  isBound: () => boolean
  /** Called when there may be more room. */
  roomMade: () => void
}

/** The outgoing window of a session, and the enquire_links that show whether its connection is alive. */
function createSendWindow(
  connection: Connection,
  { size, timing, isBound, roomMade }: SendWindowParts,
) {
  const outstanding = createOutstanding(timing.response_ms)
  let enquiry: { sequence: number; deadline: number } | null = null
  let throttled: NodeJS.Timeout | null = null

  function request(pdu: Buffer): number {
    const sequence = outstanding.nextSequence()
    connection.write(pdu, sequence)
    return sequence
  }

  /** Sends an enquire_link, unless an earlier one is still unanswered. */
  function enquire(): void {
    if (enquiry) return
    const sequence = request(encodePdu(COMMAND.enquire_link, 0, NOTHING))
    enquiry = { sequence, deadline: performance.now() + timing.response_ms }
  }

  return {
    /** The number of submissions that wait for their answers. */
    outstanding: outstanding.size,
    /** Writes a request of the session and returns its sequence number. */
    request,
    submit: (pdu: Buffer, answered: OnAnswer) =>
      outstanding.add(request(pdu), answered, () => connection.cancel(pdu)),
    /** See `Session.room`. */
    room(): number {
      if (!isBound() || throttled) return 0
      // Outstanding PDUs show the SMSC that the connection is in use.
      if (outstanding.size() === 0 && connection.silence_ms() >= SILENT_MS) {
        enquire()
        return 0
      }
      return Math.max(0, size - outstanding.size())
    },
    /** Passes an answer to its submission or enquire_link. Ignores any other answer. */
    settle(pdu: Pdu): void {
      // An answer with any status shows that the connection works.
      if (pdu.sequence === enquiry?.sequence) enquiry = null
      else if (!outstanding.settle(pdu)) return
      roomMade()
    },
    isEnquiryOverdue: (now: number) => enquiry !== null && now > enquiry.deadline,
    /** Gives up overdue submissions. If there were any, or after a silence of `idle_ms`, sends an enquire_link. */
    check(now: number): void {
      const isOverdue = outstanding.giveUpOverdue(now)
      if (isOverdue) roomMade()
      if (isBound() && (isOverdue || connection.silence_ms() >= timing.idle_ms)) enquire()
    },
    throttle(): void {
      throttled ??= setTimeout(() => {
        throttled = null
        roomMade()
      }, timing.throttle_ms)
    },
    /** Takes back the submissions that are not written yet. */
    withdraw: outstanding.giveUpUnsent,
    /** Ends the wait of all submissions. */
    close(reason: string): void {
      if (throttled) clearTimeout(throttled)
      outstanding.giveUpAll(reason)
    },
  }
}
