import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import {
  ANSWER,
  COMMAND,
  createFramer,
  encodePdu,
  GENERIC_NACK,
  MalformedPdu,
  type Pdu,
  setSequence,
} from './pdu.ts'
import type { BindSettings } from './settings.ts'
import { STATUS } from './status-table.ts'

type Peer = Pick<BindSettings, 'host' | 'port' | 'tls'>

interface ConnectionEvents {
  connected(): void
  /** The SMSC answered a request. */
  answered(pdu: Pdu): void
  /** The SMSC sent a deliver_sm or a data_sm. The receiver of this event answers it with `answer`. */
  delivered(pdu: Pdu, answer: (status: number) => void): void
  /** The SMSC sent an unbind. The receiver of this event calls `answer`, which answers it and ends the connection. */
  unbound(answer: () => void): void
  /** The SMSC ended the connection after this silence. */
  ended(silence_ms: number): void
  /** The connection failed or is closed; `failure` is null if there was no error. May be called more than once. */
  closed(failure: string | null): void
}

export const NOTHING = Buffer.alloc(0)
/** The empty message_id of the answer: a client assigns none (SMPP 3.4 sections 4.6.2 and 4.7.2). */
const NO_ID = Buffer.alloc(1)

/** Connects to an SMSC, exchanges PDUs, and answers enquire_link and unknown requests. */
export function openConnection(peer: Peer, events: ConnectionEvents) {
  const socket = connectTo(peer)
  const framesOf = createFramer()
  /** The PDUs that wait for the end of the write before them. What is here was never given to the network. */
  const unsent = new Set<Buffer>()
  let unsentOctets = 0
  let isWriting = false
  let isEnding = false
  let silentSince = performance.now()
  const silence_ms = () => performance.now() - silentSince

  socket.setNoDelay(true)
  socket.on(peer.tls ? 'secureConnect' : 'connect', events.connected)
  socket.on('data', read)
  socket.on('error', ({ code }: NodeJS.ErrnoException) => events.closed(code ?? 'connection error'))
  socket.on('end', () => events.ended(silence_ms()))
  socket.on('close', () => events.closed(null))

  function read(chunk: Buffer): void {
    const before_ms = silence_ms()
    silentSince += before_ms
    try {
      for (const pdu of framesOf(chunk)) if (!socket.destroyed) handle(pdu, before_ms)
    } catch (error) {
      if (!(error instanceof MalformedPdu)) throw error
      events.closed(`malformed PDU: ${error.message}`)
    }
  }

  function handle(pdu: Pdu, before_ms: number): void {
    // The SMSC could not read a sequence number, so it no longer finds the PDUs in the stream.
    if (pdu.command === GENERIC_NACK && pdu.sequence === 0) events.closed('generic_nack')
    else if (pdu.command >= ANSWER) events.answered(pdu)
    else serve(pdu, before_ms)
  }

  function serve(pdu: Pdu, before_ms: number): void {
    const { command, sequence } = pdu
    const answer = (status: number, body = NOTHING) =>
      write(encodePdu(command + ANSWER, status, body), sequence)
    if (command === COMMAND.enquire_link) answer(STATUS.ok)
    else if (command === COMMAND.deliver_sm || command === COMMAND.data_sm) {
      events.delivered(pdu, (status) => answer(status, NO_ID))
    } else if (command === COMMAND.unbind) {
      events.ended(before_ms)
      events.unbound(() => {
        answer(STATUS.ok)
        isEnding = true
        flush()
      })
    } else if (command !== COMMAND.alert_notification) {
      write(encodePdu(GENERIC_NACK, STATUS.invalid_command, NOTHING), sequence)
    }
  }

  function write(pdu: Buffer, sequence: number): void {
    setSequence(pdu, sequence)
    // After a whole turn of the event loop, an end of the connection that has arrived is known. A PDU that is written after
    // such an end is lost, and its outcome would be unknown.
    if (unsent.size === 0 && !isWriting) setImmediate(() => setImmediate(flush))
    unsent.add(pdu)
    unsentOctets += pdu.length
  }

  function flush(): void {
    if (isWriting || !socket.writable) return
    if (unsent.size > 0) {
      const all = Buffer.concat([...unsent], unsentOctets)
      unsent.clear()
      unsentOctets = 0
      isWriting = true
      socket.write(all, () => {
        isWriting = false
        flush()
      })
    } else if (isEnding) socket.end()
  }

  function cancel(pdu: Buffer): boolean {
    const isUnsent = unsent.delete(pdu)
    if (isUnsent) unsentOctets -= pdu.length
    return isUnsent
  }

  return {
    /** The time since the SMSC last sent data. */
    silence_ms,
    /** The octets that the SMSC has not read yet. */
    unread: () => socket.writableLength + unsentOctets,
    /** Writes a PDU, unless the connection has ended. All PDUs of one turn of the event loop go in one packet, a turn later. */
    write,
    /** Takes a PDU back. Returns false if it may have been written. */
    cancel,
    destroy: () => void socket.destroy(),
  }
}

export type Connection = ReturnType<typeof openConnection>

/** Begins to connect. With TLS, the certificate is checked against `servername` (default: the host). */
function connectTo({ host, port, tls }: Peer): Socket {
  if (!tls) return connectTcp({ host, port })
  const { ca, servername = host } = tls === true ? {} : tls
  // An IP address is not allowed in SNI (RFC 6066 section 3); the certificate is still checked against it.
  const name = isIP(servername) ? '' : servername
  return connectTls({ host, port, servername: name, ...(ca !== undefined && { ca }) })
}
