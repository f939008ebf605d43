import { once } from 'node:events'
import { pathToFileURL } from 'node:url'
import type { Pdu, Server, Session } from 'smpp'
import type { Whole } from './smsc-assembly.ts'
import {
  type Behaviour,
  BIND_REFUSALS,
  type BindBehaviour,
  createScript,
  refusalOf,
} from './smsc-behaviour.ts'
import { createDeliveries } from './smsc-deliveries.ts'
import smpp from './smsc-library.ts'
import { type Link, linkOf, type Mode, nack, respond, writeInPieces } from './smsc-link.ts'
import { type Incoming, incomingParts } from './smsc-mo.ts'
import { type IdForm, idOf, type ReceiptOptions, receiptFields } from './smsc-receipt.ts'
import { STATUS } from './smsc-status.ts'
import { type Accepted, createStore } from './smsc-store.ts'
import { readSubmission } from './smsc-submission.ts'
import type { Alphabet } from './smsc-text.ts'
import { createWatchers } from './smsc-watchers.ts'

export interface SmscOptions {
  system_id?: string
  password?: string
  /** What data_coding 0 means; `gsm` unless told. */
  alphabet?: Alphabet
  /** How submit_sm_resp writes the ids, which are counted from `first_id` (1). */
  id_form?: IdForm
  first_id?: number
  /** Everything it sends goes out in pieces of so many octets. */
  piece_octets?: number
  /** Speaks TLS with this. */
  tls?: { key: string | Buffer; cert: string | Buffer }
  /** Called with each message taken, once it is whole. */
  onMessage?: (whole: Whole<Accepted>) => void
}

export type { Accepted } from './smsc-store.ts'

export type Smsc = Awaited<ReturnType<typeof startSmsc>>

/** An SMSC on this machine that speaks SMPP 3.4 on npm `smpp`, does what it is told, and remembers all it took. */
export async function startSmsc(options: SmscOptions = {}) {
  const { system_id = 'svc', password = 'secret', alphabet = 'gsm', id_form = 'decimal' } = options
  const { first_id = 1, piece_octets, tls, onMessage } = options
  const store = createStore({ id_form, first_id, onMessage })
  const watchers = createWatchers()
  const submits = createScript<Behaviour>()
  const binds = createScript<BindBehaviour>()
  const counts = { binds: 0, refused_binds: 0, unbinds: 0, submits: 0 }
  let links: Link[] = []
  let held: (() => void)[] = []
  let is_silent = false
  let server: Server
  const deliveries = createDeliveries(() => links)

  function bind(link: Link, pdu: Pdu, mode: Mode) {
    const told = binds.take()
    if (told === 'no_response') return
    if (told === 'drop') return link.session.destroy()
    const refusal = (told && BIND_REFUSALS[told]) ?? refusalOfBind(link, pdu)
    if (refusal !== STATUS.ok) {
      counts.refused_binds += 1
      return respond(link, pdu, { command_status: refusal })
    }
    Object.assign(link, {
      mode,
      system_id: pdu.system_id,
      system_type: pdu.system_type,
      interface_version: pdu.interface_version,
    })
    counts.binds += 1
    respond(link, pdu, { system_id: 'testsmsc', sc_interface_version: 0x34 })
    deliveries.bound()
  }

  function refusalOfBind(link: Link, pdu: Pdu): number {
    if (link.mode) return STATUS.already_bound
    if (pdu.system_id !== system_id) return STATUS.invalid_system_id
    return pdu.password === password ? STATUS.ok : STATUS.invalid_password
  }

  function submit(link: Link, pdu: Pdu) {
    counts.submits += 1
    const refuse = (command_status: number) => respond(link, pdu, { command_status })
    if (!link.mode || link.mode === 'receiver') return refuse(STATUS.invalid_bind_status)
    const told = submits.take()
    if (told === 'drop_before_read') return link.session.destroy()
    if (told === 'nack') return nack(link, pdu.sequence_number, STATUS.invalid_command_length)
    if (told === 'unbind') return unbind(link)
    const refusal = told && refusalOf(told)
    if (refusal) return refuse(refusal)
    const submission = readSubmission(pdu, link.system_id, alphabet)
    if (typeof submission === 'number') return refuse(submission)
    const one = store.take(submission)
    link.open += 1
    link.most_open = Math.max(link.most_open, link.open)
    afterwards(link, pdu, one, told)
  }

  function afterwards(link: Link, pdu: Pdu, one: Accepted, told: Behaviour | null) {
    const answer = () => {
      link.open -= 1
      one.is_answered = link.session.send(pdu.response({ message_id: one.id }))
      watchers.changed()
    }
    if (told === 'no_response') return
    if (told === 'drop_after_read') return link.session.destroy()
    if (told === 'hold') return void held.push(answer)
    if (typeof told === 'object' && told?.type === 'respond_late') {
      return void setTimeout(answer, told.ms).unref()
    }
    if (typeof told === 'object' && told?.type === 'early_receipt') {
      void receipt(one.id, told.state, told.options)
    }
    answer()
  }

  /** Unbinds in order: the connection ends once the client answered. */
  function unbind(link: Link): void {
    link.mode = null
    link.session.send(new smpp.PDU('unbind'), () => link.session.close())
  }

  function query(link: Link, pdu: Pdu) {
    const known = store.find(pdu.message_id)
    if (!known) return respond(link, pdu, { command_status: STATUS.query_failed })
    respond(link, pdu, { message_id: known.id, final_date: '', message_state: 1, error_code: 0 })
  }

  const handlers: Record<string, (link: Link, pdu: Pdu) => void> = {
    bind_transmitter: (link, pdu) => bind(link, pdu, 'transmitter'),
    bind_receiver: (link, pdu) => bind(link, pdu, 'receiver'),
    bind_transceiver: (link, pdu) => bind(link, pdu, 'transceiver'),
    submit_sm: submit,
    query_sm: query,
    cancel_sm: (link, pdu) => respond(link, pdu, { command_status: STATUS.cancel_failed }),
    enquire_link(link, pdu) {
      link.enquire_links += 1
      if (!is_silent) respond(link, pdu)
    },
    unbind(link, pdu) {
      counts.unbinds += 1
      link.mode = null
      respond(link, pdu)
    },
  }

  function opened(session: Session): void {
    const link = linkOf(session)
    links.push(link)
    session.socket.setNoDelay(true)
    if (piece_octets) writeInPieces(session.socket, piece_octets)
    session.on('pdu', (pdu: Pdu) => {
      if (session.socket.destroyed || pdu.isResponse()) return
      const handle = handlers[pdu.command]
      if (handle) handle(link, pdu)
      else nack(link, pdu.sequence_number, STATUS.invalid_command)
      watchers.changed()
    })
    // What cannot be read as PDUs: SMPP has no way to go on after that.
    session.on('error', () => {
      nack(link, 0, STATUS.invalid_command_length)
      session.destroy()
    })
    session.on('close', () => {
      link.mode = null
      links = links.filter((other) => other !== link)
      deliveries.ended(link)
      watchers.changed()
    })
  }

  async function listen(port: number): Promise<number> {
    server = smpp.createServer(tls ?? {}, opened)
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    return server.address().port
  }

  async function down(): Promise<void> {
    const ended = new Promise<void>((resolve) => server.close(resolve))
    held = []
    for (const { session } of links) session.destroy()
    await ended
  }

  async function receipt(id: string, state = 'DELIVRD', told: ReceiptOptions = {}) {
    const message = store.find(id)
    if (!message) throw new Error(`no message ${id} was taken`)
    const written = idOf(message.serial, told.id_form ?? id_form)
    const fields = receiptFields(message, written, state, told)
    const times = Array.from({ length: told.times ?? 1 })
    return Promise.all(times.map(() => deliveries.deliver(message.system_id, fields)))
  }

  const port = await listen(0)

  return {
    port,
    /** Every submit_sm that was taken, in its order; also across restarts. */
    accepted: store.accepted,
    /** Texts as phones show them, long ones once all their parts came. */
    messages: store.messages,
    /** How many texts lack parts. */
    incomplete: store.incomplete,
    counts,
    /** The connections that are there now. */
    sessions: () => links.map(({ session: _, ...told }) => ({ ...told })),
    /** What befalls the next submit_sm, or the next `times`; told again, the ones after those. */
    next: submits.next,
    /** What befalls the next bind. */
    nextBind: binds.next,
    /** Nothing more befalls anybody. */
    clear(): void {
      submits.clear()
      binds.clear()
    },
    /** Whether enquire_link is left unanswered from now on. */
    silence(is = true): void {
      is_silent = is
    },
    /** Answers what was held. */
    release(): void {
      const answers = held
      held = []
      for (const answer of answers) answer()
    },
    /** Sends a receipt of a taken message, the newest with the id; answers what the client said, once for each. */
    receipt,
    /** Somebody writes; answers what the client said to each part. */
    mo: (incoming: Incoming) =>
      Promise.all(incomingParts(incoming).map((fields) => deliveries.deliver(null, fields))),
    /** Any deliver_sm. */
    deliver: (fields: Record<string, unknown>) => deliveries.deliver(null, fields),
    /** How many deliver_sm the client did not answer yet. */
    undelivered: deliveries.open,
    /** Asks every client whether it is there; answers when all have answered. */
    enquire: () =>
      Promise.all(
        links.map(
          ({ session }) =>
            new Promise<void>((resolve) => {
              session.send(new smpp.PDU('enquire_link'), () => resolve())
            }),
        ),
      ),
    /** Unbinds every session in order. */
    unbindAll: () => links.forEach(unbind),
    /** Breaks every connection. */
    dropAll: () => links.forEach(({ session }) => void session.destroy()),
    /** Is gone, until `up`; ids go on. */
    down,
    up: async () => void (await listen(port)),
    /** Goes and comes again on the same port; ids begin anew. */
    async restart(): Promise<void> {
      await down()
      store.beginIdsAnew()
      await listen(port)
    },
    /** Resolves when `holds` does, which is asked after everything that happens. */
    when: watchers.when,
    async close(): Promise<void> {
      deliveries.close()
      if ('listening' in server && server.listening) await down()
    },
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await (await import('./smsc-alone.ts')).runAlone(startSmsc)
}
