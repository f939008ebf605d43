import type { Socket } from 'node:net'
import type { Pdu, Session } from 'smpp'
import smpp from './smsc-library.ts'

export type Mode = 'transmitter' | 'receiver' | 'transceiver'

/** One connection to the test SMSC. */
export interface Link {
  session: Session
  system_id: string
  /** Null until it has bound. */
  mode: Mode | null
  interface_version: number
  system_type: string
  /** The number of enquire_link of the client. */
  enquire_links: number
  /** The highest number of unanswered submit_sm. */
  most_open: number
  open: number
}

export function linkOf(session: Session): Link {
  return {
    session,
    system_id: '',
    mode: null,
    interface_version: 0,
    system_type: '',
    enquire_links: 0,
    most_open: 0,
    open: 0,
  }
}

/** Answers with the response that belongs to the command. */
export function respond(link: Link, pdu: Pdu, fields: Record<string, unknown> = {}): void {
  link.session.send(pdu.response(fields))
}

/** SMPP 3.4 section 4.3: the answer to a malformed or unknown command. */
export function nack(link: Link, sequence_number: number, command_status: number): void {
  link.session.send(new smpp.PDU('generic_nack', { sequence_number, command_status }))
}

/** Splits all further output into writes of `octets`: frames are cut anywhere. */
export function writeInPieces(socket: Socket, octets: number): void {
  const write = socket.write.bind(socket) as (data: Buffer, done?: () => void) => boolean
  let last = Promise.resolve()
  const inPieces = (data: Buffer, done?: () => void) => {
    for (let at = 0; at < data.length; at += octets) {
      const piece = data.subarray(at, at + octets)
      last = last.then(() => turn()).then(() => void (socket.writable && write(piece)))
    }
    last = last.then(() => done?.())
    return true
  }
  Object.assign(socket, { write: inPieces })
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
