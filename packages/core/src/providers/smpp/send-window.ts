import { type Connection, NOTHING } from './connection.ts'
import { createOutstanding, type OnAnswer } from './outstanding.ts'
import { COMMAND, encodePdu, type Pdu } from './pdu.ts'
import type { Timing } from './settings.ts'

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
export function createSendWindow(
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
    /** Ends the wait of all submissions. */
    close(reason: string): void {
      if (throttled) clearTimeout(throttled)
      outstanding.giveUpAll(reason)
    },
  }
}
