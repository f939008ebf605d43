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
  /** How often the client asked whether the SMSC is there. */
  enquire_links: number
  /** How many submit_sm were read and not answered at once, at the most. */
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

/** SMPP 3.4 section 4.3: for what is no command or not one of these. */
export function nack(link: Link, sequence_number: number, command_status: number): void {
  link.session.send(new smpp.PDU('generic_nack', { sequence_number, command_status }))
}

/** From now on everything goes out in pieces of `octets`, each a write of its own: frames are cut anywhere. */
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
