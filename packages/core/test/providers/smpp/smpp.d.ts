/** The part of npm `smpp` 0.5.1 that the test SMSC uses. The package has no types. */
declare module 'smpp' {
  import type { EventEmitter } from 'node:events'
  import type { AddressInfo, Socket } from 'node:net'

  /** One protocol data unit; its fields and TLVs by their names in SMPP 3.4, unknown TLVs by their number. */
  export interface Pdu {
    command: string
    command_id: number
    command_length: number
    command_status: number
    sequence_number: number
    isResponse(): boolean
    /** The answer to it; a generic_nack to an unknown command. */
    response(fields?: Record<string, unknown>): Pdu
    toBuffer(): Buffer
    [field: string]: unknown
  }

  export interface Session extends EventEmitter {
    socket: Socket
    /** False if the connection has ended. The callback gets the response if one comes. */
    send(pdu: Pdu, on_response?: (response: Pdu) => void): boolean
    close(done?: () => void): void
    destroy(done?: () => void): void
  }

  export interface Server extends EventEmitter {
    listen(port: number, host: string, done?: () => void): void
    address(): AddressInfo
    close(done?: () => void): void
  }

  interface Field {
    filter?: unknown
  }

  interface Encoding {
    match(text: string): boolean
    encode(text: string): Buffer
    decode(octets: Buffer): string
  }

  const smpp: {
    createServer(options: object, on_session: (session: Session) => void): Server
    connect(options: object, on_connect?: () => void): Session
    PDU: new (command: string, fields?: Record<string, unknown>) => Pdu
    commands: Record<string, { params?: Record<string, Field> }>
    tlvs: Record<string, Field>
    encodings: Record<'ASCII' | 'LATIN1' | 'UCS2', Encoding>
  }
  export default smpp
}
