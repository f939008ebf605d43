import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { createOutstanding, type OnAnswer } from './outstanding.ts'
import {
  ANSWER,
  bindTransceiver,
  COMMAND,
  createFramer,
  encodePdu,
  GENERIC_NACK,
  MalformedPdu,
  type Pdu,
  setSequence,
} from './pdu.ts'
import type { BindSettings, Timing } from './settings.ts'
import { STATUS } from './status-table.ts'

/** Why a connection ended. */
export interface Ending {
  reason: string
  /** The status with which the SMSC refused the bind. */
  status: number | null
  /** The silence before the end, if the SMSC ended a connection on which nothing was in flight; else null. */
  idle_ms: number | null
}

export interface SessionEvents {
  /** The session is bound. */
  up(): void
  /** The session ended; called once, after the wait of everything outstanding was ended. */
  down(ending: Ending): void
  /** There may be more room. */
  room(): void
  /** A deliver_sm, which the service answers with `answer`. */
  deliver(pdu: Pdu, answer: (status: number) => void): void
}

/** One connection to an SMSC, from connecting to its end: SMPP 3.4 sections 2.2 to 2.10. */
export interface Session {
  isBound(): boolean
  /**
   * The number of PDUs that may be submitted now: none while the session is not bound, ends or is throttled. If the SMSC was
   * silent, this sends an enquire_link and there is no room until `SessionEvents.room` reports the answer.
   */
  room(): number
  outstanding(): number
  /** Writes a submit_sm; only while there is room. */
  submit(pdu: Buffer, answered: OnAnswer): void
  /** Pauses sending. */
  throttle(): void
  /** Accepts nothing more, waits for outstanding answers, unbinds and closes: at most `grace_ms`. */
  end(grace_ms: number, reason: string): Promise<void>
}

/** How long an SMSC that unbound may take for its outstanding answers. */
const UNBOUND_MS = 1000
/**
 * After this silence the SMSC must answer an enquire_link before it gets a message. SMSCs and firewalls end idle
 * connections, firewalls without a sign, and a submit_sm that was written to such a connection would stay in doubt.
 */
const SILENT_MS = 500
/** The most octets that may wait for the SMSC to read them. */
const UNREAD_MAX = 16 * 1024 * 1024

const NOTHING = Buffer.alloc(0)
/** The message_id of a deliver_sm_resp, which is unused: SMPP 3.4 section 4.6.2. */
const NO_ID = Buffer.alloc(1)

/** Connects and binds. Never throws: `down` reports a failure. */
export function openSession(
  account: BindSettings,
  { window, timing }: { window: number; timing: Timing },
  events: SessionEvents,
): Session {
  const socket = connectTo(account)
  const writer = createWriter(socket)
  const silence = createSilence()
  const waits = createWaits()
  const framesOf = createFramer()
  const outstanding = createOutstanding(timing.response_ms)
  let phase: 'connecting' | 'binding' | 'bound' | 'ending' | 'over' = 'connecting'
  let phaseDeadline = performance.now() + timing.connect_ms
  /** The sequence number of the bind, then of the unbind. */
  let ownSequence = 0
  let idle_ms: number | null = null
  let enquiry: { sequence: number; deadline: number } | null = null
  let throttled: NodeJS.Timeout | null = null
  let closing = 'closed by the SMSC'

  const tick_ms = Math.max(5, Math.min(250, timing.response_ms / 8, timing.idle_ms / 4))
  const ticking = setInterval(tick, tick_ms)

  socket.setNoDelay(true)
  socket.on(account.tls ? 'secureConnect' : 'connect', bind)
  socket.on('data', read)
  socket.on('error', (error: NodeJS.ErrnoException) => finish(error.code ?? 'connection error'))
  socket.on('end', () => noteIdle(silence.ms()))
  socket.on('close', () => finish(closing))

  function bind(): void {
    phase = 'binding'
    phaseDeadline = performance.now() + timing.response_ms
    ownSequence = request(bindTransceiver(account))
  }

  function request(pdu: Buffer): number {
    const sequence = outstanding.nextSequence()
    writer.write(pdu, sequence)
    return sequence
  }

  function answer({ command, sequence }: Pdu, status: number): void {
    if (phase === 'over' || !socket.writable) return
    const body = command === COMMAND.deliver_sm ? NO_ID : NOTHING
    writer.write(encodePdu(command + ANSWER, status, body), sequence)
  }

  function read(chunk: Buffer): void {
    silence.end()
    try {
      for (const pdu of framesOf(chunk)) if (phase !== 'over') handle(pdu)
    } catch (error) {
      if (!(error instanceof MalformedPdu)) throw error
      finish(`malformed PDU: ${error.message}`)
    }
  }

  function handle(pdu: Pdu): void {
    if (pdu.command >= ANSWER) handleAnswer(pdu)
    else if (pdu.command === COMMAND.enquire_link) answer(pdu, STATUS.ok)
    else if (pdu.command === COMMAND.unbind) handleUnbind(pdu)
    else if (pdu.command === COMMAND.deliver_sm) handleDelivery(pdu)
    else if (pdu.command !== COMMAND.alert_notification) {
      writer.write(encodePdu(GENERIC_NACK, STATUS.invalid_command, NOTHING), pdu.sequence)
    }
  }

  function handleAnswer(pdu: Pdu): void {
    if (pdu.sequence === ownSequence && phase === 'binding') handleBindAnswer(pdu)
    else if (pdu.sequence === ownSequence && phase === 'ending') finish(closing)
    // Any status shows that the SMSC is there.
    else if (pdu.sequence === enquiry?.sequence) {
      enquiry = null
      roomMade()
    } else if (outstanding.settle(pdu)) roomMade()
    // The SMSC could not read a sequence number: it is out of step with the stream.
    else if (pdu.command === GENERIC_NACK && pdu.sequence === 0) finish('generic_nack')
  }

  function handleBindAnswer({ command, status }: Pdu): void {
    if (status !== STATUS.ok || command !== COMMAND.bind_transceiver + ANSWER) {
      finish('the bind was refused', status)
      return
    }
    phase = 'bound'
    events.up()
    events.room()
  }

  function handleDelivery(pdu: Pdu): void {
    if (phase === 'bound') events.deliver(pdu, (status) => answer(pdu, status))
    // The session ends: the SMSC repeats the delivery on the next connection.
    else answer(pdu, STATUS.temporary_error)
  }

  /** The SMSC accepts nothing more, and may still answer what it has. */
  function handleUnbind(pdu: Pdu): void {
    noteIdle(silence.previous_ms())
    answer(pdu, STATUS.ok)
    writer.flush()
    phase = 'ending'
    closing = 'unbound by the SMSC'
    socket.end()
    setTimeout(() => finish(closing), Math.min(UNBOUND_MS, timing.response_ms)).unref()
  }

  /** The SMSC ends the connection after this silence. */
  function noteIdle(ms: number): void {
    if (phase === 'bound' && outstanding.size() === 0) idle_ms = ms
  }

  function roomMade(): void {
    if (phase === 'bound') events.room()
    waits.recheck()
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
    if (phase === 'bound' && (isOverdue || silence.ms() >= timing.idle_ms)) enquire(now)
  }

  function failureAt(now: number): string | null {
    if (phase === 'connecting' && now > phaseDeadline) return 'no connection in time'
    if (phase === 'binding' && now > phaseDeadline) return 'no answer to the bind'
    if (enquiry && now > enquiry.deadline) return 'no answer to enquire_link'
    return socket.writableLength > UNREAD_MAX ? 'the SMSC reads nothing' : null
  }

  function enquire(now: number): void {
    if (enquiry) return
    const sequence = request(encodePdu(COMMAND.enquire_link, 0, NOTHING))
    enquiry = { sequence, deadline: now + timing.response_ms }
  }

  function room(): number {
    if (phase !== 'bound' || throttled) return 0
    // Outstanding PDUs show the SMSC that the connection is in use.
    if (outstanding.size() === 0 && silence.ms() >= SILENT_MS) {
      enquire(performance.now())
      return 0
    }
    return Math.max(0, window - outstanding.size())
  }

  function finish(reason: string, status: number | null = null): void {
    if (phase === 'over') return
    phase = 'over'
    clearInterval(ticking)
    if (throttled) clearTimeout(throttled)
    socket.destroy()
    outstanding.giveUpAll(reason)
    events.down({ reason, status, idle_ms })
    waits.recheck()
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
        await waits.until(() => isOver() || outstanding.size() === 0, grace_ms)
        if (!isOver()) ownSequence = request(encodePdu(COMMAND.unbind, 0, NOTHING))
        await waits.until(isOver, Math.min(timing.response_ms, until - performance.now()))
      } else if (phase === 'ending') await waits.until(isOver, grace_ms)
      finish(reason)
    },
  }
}

/** Writes PDUs. Those of one turn of the event loop go in one packet. */
function createWriter(socket: Socket) {
  let unsent: Buffer[] = []

  function flush(): void {
    if (unsent.length === 0) return
    const all = unsent.length === 1 ? (unsent[0] as Buffer) : Buffer.concat(unsent)
    unsent = []
    if (socket.writable) socket.write(all)
  }

  return {
    flush,
    write(pdu: Buffer, sequence: number): void {
      setSequence(pdu, sequence)
      if (unsent.length === 0) process.nextTick(flush)
      unsent.push(pdu)
    },
  }
}

/** Measures the time since the SMSC last sent anything. */
function createSilence() {
  let began = performance.now()
  let previous_ms = 0
  return {
    ms: () => performance.now() - began,
    /** The length of the silence that ended last. */
    previous_ms: () => previous_ms,
    end(): void {
      previous_ms = performance.now() - began
      began += previous_ms
    },
  }
}

/** Waits for conditions, which are checked again on each `recheck`. */
function createWaits() {
  const checks = new Set<() => void>()
  return {
    recheck(): void {
      for (const check of checks) check()
    },
    /** Resolves when `holds` does, or after `ms`. */
    until(holds: () => boolean, ms: number): Promise<void> {
      if (holds()) return Promise.resolve()
      return new Promise((resolve) => {
        const done = () => {
          checks.delete(check)
          clearTimeout(timer)
          resolve()
        }
        const timer = setTimeout(done, ms)
        const check = () => {
          if (holds()) done()
        }
        checks.add(check)
      })
    },
  }
}

/** Begins to connect. With TLS, the certificate is checked against `servername`, by default the host. */
function connectTo({ host, port, tls }: Pick<BindSettings, 'host' | 'port' | 'tls'>): Socket {
  if (!tls) return connectTcp({ host, port })
  const { ca, servername = host } = tls === true ? {} : tls
  // An IP address is not allowed in SNI (RFC 6066 section 3); the certificate is still checked against it.
  const name = isIP(servername) ? '' : servername
  return connectTls({ host, port, servername: name, ...(ca !== undefined && { ca }) })
}
