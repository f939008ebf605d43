import type { Socket } from 'node:net'
import { connectTo } from './connect.ts'
import { createFramer } from './frames.ts'
import { createOutstanding, type OnAnswer } from './outstanding.ts'
import {
  ANSWER,
  bindTransceiver,
  COMMAND,
  encodePdu,
  GENERIC_NACK,
  MalformedPdu,
  type Pdu,
  setSequence,
} from './pdu.ts'
import type { BindSettings, Timing } from './settings.ts'
import { STATUS } from './status-table.ts'

/** Why a connection is no more. */
export interface Ending {
  reason: string
  /** With what the SMSC refused the bind. */
  status: number | null
  /** For how long nothing had come, where the SMSC ended a connection on which nothing was under way; else null. */
  idle_ms: number | null
}

export interface SessionEvents {
  /** It is bound. */
  up(): void
  /** It is over, for whatever reason; called once, after everything outstanding was given up. */
  down(ending: Ending): void
  /** There may be room for more. */
  room(): void
  /** A request of the SMSC that is the service's to answer, by `answer`. */
  deliver(pdu: Pdu, answer: (status: number) => void): void
}

/** One connection to an SMSC, from connecting to its end: SMPP 3.4 sections 2.2 to 2.10. */
export interface Session {
  isBound(): boolean
  /**
   * How many PDUs it may be given now: none while it is not bound, ends or is throttled, nor while an SMSC that was
   * silent is asked whether it is still there. This asks, and `SessionEvents.room` tells of the answer.
   */
  room(): number
  outstanding(): number
  /** Writes a submit_sm; only while there is room. */
  submit(pdu: Buffer, answered: OnAnswer): void
  /** Sends nothing for a while. */
  throttle(): void
  /** Takes nothing more in, waits for what is outstanding, unbinds and closes: at most `grace_ms`. */
  end(grace_ms: number, reason: string): Promise<void>
}

/** How long an SMSC that unbound may take to answer what it has. */
const UNBOUND_MS = 1000
/**
 * After so long without a word an SMSC is asked before it is given a message. SMSCs and firewalls end idle connections,
 * a firewall without telling, and a submit_sm that was written to such a connection would be in doubt for ever.
 */
const SILENT_MS = 500
/** How many octets may wait for an SMSC to read them. */
const UNREAD_MAX = 16 * 1024 * 1024

const NOTHING = Buffer.alloc(0)
/** The message_id of a deliver_sm_resp, which is unused: SMPP 3.4 section 4.6.2. */
const NO_ID = Buffer.alloc(1)

/** Connects and binds. Never throws: what fails is told by `down`. */
export function openSession(
  account: BindSettings,
  { window, timing }: { window: number; timing: Timing },
  events: SessionEvents,
): Session {
  const socket: Socket = connectTo(account)
  const framesOf = createFramer()
  const outstanding = createOutstanding(timing.response_ms)
  let phase: 'connecting' | 'binding' | 'bound' | 'ending' | 'over' = 'connecting'
  let phaseDeadline = performance.now() + timing.connect_ms
  /** Of the bind, then of the unbind. */
  let ownSequence = 0
  let unsent: Buffer[] = []
  let heardAt = performance.now()
  /** Before what came last. */
  let silent_ms = 0
  let idle_ms: number | null = null
  let enquiry: { sequence: number; deadline: number } | null = null
  let throttled: NodeJS.Timeout | null = null
  let closing = 'closed by the SMSC'
  const watchers = new Set<() => void>()

  const tick_ms = Math.max(5, Math.min(250, timing.response_ms / 8, timing.idle_ms / 4))
  const ticking = setInterval(tick, tick_ms)

  socket.setNoDelay(true)
  socket.on(account.tls ? 'secureConnect' : 'connect', bind)
  socket.on('data', take)
  socket.on('error', (error: NodeJS.ErrnoException) => finish(error.code ?? 'connection error'))
  socket.on('end', () => noteIdle(performance.now() - heardAt))
  socket.on('close', () => finish(closing))

  function bind(): void {
    phase = 'binding'
    phaseDeadline = performance.now() + timing.response_ms
    ownSequence = request(bindTransceiver(account))
  }

  function request(pdu: Buffer): number {
    const sequence = outstanding.nextSequence()
    write(pdu, sequence)
    return sequence
  }

  function write(pdu: Buffer, sequence: number): void {
    setSequence(pdu, sequence)
    // What is written in one turn goes in one packet.
    if (unsent.length === 0) process.nextTick(flush)
    unsent.push(pdu)
  }

  function flush(): void {
    if (unsent.length === 0) return
    const all = unsent.length === 1 ? (unsent[0] as Buffer) : Buffer.concat(unsent)
    unsent = []
    if (socket.writable) socket.write(all)
  }

  function answer({ command, sequence }: Pdu, status: number): void {
    if (phase === 'over' || !socket.writable) return
    const body = command === COMMAND.deliver_sm ? NO_ID : NOTHING
    write(encodePdu(command + ANSWER, status, body), sequence)
  }

  function take(chunk: Buffer): void {
    silent_ms = performance.now() - heardAt
    heardAt += silent_ms
    try {
      for (const pdu of framesOf(chunk)) if (phase !== 'over') handle(pdu)
    } catch (error) {
      if (!(error instanceof MalformedPdu)) throw error
      finish(`malformed PDU: ${error.message}`)
    }
  }

  function handle(pdu: Pdu): void {
    if (pdu.command >= ANSWER) answered(pdu)
    else if (pdu.command === COMMAND.enquire_link) answer(pdu, STATUS.ok)
    else if (pdu.command === COMMAND.unbind) unbound(pdu)
    else if (pdu.command === COMMAND.deliver_sm) deliver(pdu)
    else if (pdu.command !== COMMAND.alert_notification) {
      write(encodePdu(GENERIC_NACK, STATUS.invalid_command, NOTHING), pdu.sequence)
    }
  }

  function answered(pdu: Pdu): void {
    if (pdu.sequence === ownSequence && phase === 'binding') bindAnswered(pdu)
    else if (pdu.sequence === ownSequence && phase === 'ending') finish(closing)
    // Whatever it says to it: it is there.
    else if (pdu.sequence === enquiry?.sequence) {
      enquiry = null
      roomMade()
    } else if (outstanding.settle(pdu)) roomMade()
    // A nack of what it could not even number: nothing that follows can be trusted.
    else if (pdu.command === GENERIC_NACK && pdu.sequence === 0) finish('generic_nack')
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

  function deliver(pdu: Pdu): void {
    if (phase === 'bound') events.deliver(pdu, (status) => answer(pdu, status))
    // Nothing more is taken in: it comes again on the next connection.
    else answer(pdu, STATUS.temporary_error)
  }

  /** The SMSC ends the connection, after so long without a word. */
  function noteIdle(ms: number): void {
    if (phase === 'bound' && outstanding.size() === 0) idle_ms = ms
  }

  /** It takes nothing more, but what it has it may still answer. */
  function unbound(pdu: Pdu): void {
    noteIdle(silent_ms)
    answer(pdu, STATUS.ok)
    flush()
    phase = 'ending'
    closing = 'unbound by the SMSC'
    socket.end()
    setTimeout(() => finish(closing), Math.min(UNBOUND_MS, timing.response_ms)).unref()
  }

  function roomMade(): void {
    if (phase === 'bound') events.room()
    for (const look of watchers) look()
  }

  function tick(): void {
    const now = performance.now()
    const failure = failureAt(now)
    if (failure) {
      finish(failure)
      return
    }
    const isOverdue = outstanding.giveUpOverdue(now)
    if (isOverdue) roomMade()
    if (phase === 'bound' && (isOverdue || now - heardAt >= timing.idle_ms)) enquire(now)
  }

  function enquire(now: number): void {
    if (enquiry) return
    const sequence = request(encodePdu(COMMAND.enquire_link, 0, NOTHING))
    enquiry = { sequence, deadline: now + timing.response_ms }
  }

  function room(): number {
    if (phase !== 'bound' || throttled) return 0
    const now = performance.now()
    // What is outstanding shows the SMSC that the connection is in use.
    if (outstanding.size() === 0 && now - heardAt >= SILENT_MS) {
      enquire(now)
      return 0
    }
    return Math.max(0, window - outstanding.size())
  }

  function failureAt(now: number): string | null {
    if (phase === 'connecting' && now > phaseDeadline) return 'no connection in time'
    if (phase === 'binding' && now > phaseDeadline) return 'no answer to the bind'
    if (enquiry && now > enquiry.deadline) return 'no answer to enquire_link'
    return socket.writableLength > UNREAD_MAX ? 'the SMSC reads nothing' : null
  }

  function finish(reason: string, status: number | null = null): void {
    if (phase === 'over') return
    phase = 'over'
    clearInterval(ticking)
    if (throttled) clearTimeout(throttled)
    socket.destroy()
    outstanding.giveUpAll(reason)
    events.down({ reason, status, idle_ms })
    for (const look of watchers) look()
  }

  /** Resolves when `holds` does, or it is over, or after `ms`. */
  function settled(holds: () => boolean, ms: number): Promise<void> {
    if (holds()) return Promise.resolve()
    return new Promise((resolve) => {
      const done = () => {
        watchers.delete(look)
        clearTimeout(timer)
        resolve()
      }
      const timer = setTimeout(done, ms)
      const look = () => {
        if (phase === 'over' || holds()) done()
      }
      watchers.add(look)
    })
  }

  return {
    isBound: () => phase === 'bound',
    room,
    outstanding: outstanding.size,
    submit: (pdu, done) => outstanding.add(request(pdu), done),
    throttle() {
      if (throttled || phase !== 'bound') return
      throttled = setTimeout(() => {
        throttled = null
        events.room()
      }, timing.throttle_ms)
    },
    async end(grace_ms, reason) {
      const isOver = () => phase === 'over'
      const until = performance.now() + grace_ms
      if (phase === 'bound') {
        phase = 'ending'
        closing = reason
        await settled(() => outstanding.size() === 0, grace_ms)
        if (!isOver()) ownSequence = request(encodePdu(COMMAND.unbind, 0, NOTHING))
        await settled(isOver, Math.min(timing.response_ms, until - performance.now()))
      } else if (phase === 'ending') await settled(isOver, grace_ms)
      finish(reason)
    },
  }
}
