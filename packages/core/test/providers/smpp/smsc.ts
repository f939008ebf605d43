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

export interface SmscOptions {
  system_id?: string
  password?: string
  /** The meaning of data_coding 0; default: `gsm`. */
  alphabet?: Alphabet
  /** How submit_sm_resp writes the ids, which are counted from `first_id` (default: 1). */
  id_form?: IdForm
  first_id?: number
  /** The number of octets of each write. */
  piece_octets?: number
  /** The key and certificate for TLS. */
  tls?: { key: string | Buffer; cert: string | Buffer }
  /** Called with each accepted message after its last part. */
  onMessage?: (whole: Whole<Accepted>) => void
}

export type { Accepted } from './smsc-store.ts'

export type Smsc = Awaited<ReturnType<typeof startSmsc>>

/** Starts an SMSC on loopback that speaks SMPP 3.4 with npm `smpp`, behaves as the test sets, and keeps all messages. */
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
    const behaviour = binds.take()
    if (behaviour === 'no_response') return
    if (behaviour === 'drop') return link.session.destroy()
    const refusal = (behaviour && BIND_REFUSALS[behaviour]) ?? refusalOfBind(link, pdu)
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
    const behaviour = submits.take()
    if (behaviour === 'drop_before_read') return link.session.destroy()
    if (behaviour === 'nack') return nack(link, pdu.sequence_number, STATUS.invalid_command_length)
    if (behaviour === 'unbind') return unbind(link)
    const refusal = behaviour && refusalOf(behaviour)
    if (refusal) return refuse(refusal)
    const submission = readSubmission(pdu, link.system_id, alphabet)
    if (typeof submission === 'number') return refuse(submission)
    const one = store.take(submission)
    link.open += 1
    link.most_open = Math.max(link.most_open, link.open)
    respondAs(behaviour, link, pdu, one)
  }

  function respondAs(behaviour: Behaviour | null, link: Link, pdu: Pdu, one: Accepted) {
    const answer = () => {
      link.open -= 1
      one.is_answered = link.session.send(pdu.response({ message_id: one.id }))
      watchers.changed()
    }
    if (behaviour === 'no_response') return
    if (behaviour === 'drop_after_read') return link.session.destroy()
    if (behaviour === 'hold') return void held.push(answer)
    if (typeof behaviour === 'object' && behaviour?.type === 'respond_late') {
      return void setTimeout(answer, behaviour.ms).unref()
    }
    if (typeof behaviour === 'object' && behaviour?.type === 'early_receipt') {
      void receipt(one.id, behaviour.state, behaviour.options)
    }
    answer()
  }

  /** Unbinds: the connection ends after the client answered. */
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
    // The stream cannot be read as PDUs: SMPP has no way to continue.
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

  async function receipt(id: string, state = 'DELIVRD', more: ReceiptOptions = {}) {
    const message = store.find(id)
    if (!message) throw new Error(`no message ${id} was accepted`)
    const written = idOf(message.serial, more.id_form ?? id_form)
    const fields = receiptFields(message, written, state, more)
    const times = Array.from({ length: more.times ?? 1 })
    return Promise.all(times.map(() => deliveries.deliver(message.system_id, fields)))
  }

  const port = await listen(0)

  return {
    port,
    /** Every accepted submit_sm, in order, also across restarts. */
    accepted: store.accepted,
    /** Texts as phones show them, long ones after all their parts. */
    messages: store.messages,
    /** The number of incomplete texts. */
    incomplete: store.incomplete,
    counts,
    /** The present connections. */
    sessions: () => links.map(({ session: _, ...state }) => ({ ...state })),
    /** Sets the behaviour for the next submit_sm, or the next `times`; a further call sets that of the following ones. */
    next: submits.next,
    /** Sets the behaviour for the next bind. */
    nextBind: binds.next,
    /** Removes all behaviours. */
    clear(): void {
      submits.clear()
      binds.clear()
    },
    /** Sets whether enquire_link stays unanswered. */
    silence(is = true): void {
      is_silent = is
    },
    /** Sends the held answers. */
    release(): void {
      const answers = held
      held = []
      for (const answer of answers) answer()
    },
    /** Sends a receipt of the newest message with the id. Resolves with the client's statuses, one for each deliver_sm. */
    receipt,
    /** Sends a text from a phone. Resolves with the client's status for each part. */
    mo: (incoming: Incoming) =>
      Promise.all(incomingParts(incoming).map((fields) => deliveries.deliver(null, fields))),
    /** Any deliver_sm, or a data_sm. Resolves with the client's status. */
    deliver: (fields: Record<string, unknown>, command?: 'data_sm') =>
      deliveries.deliver(null, fields, command),
    /** The number of unanswered deliver_sm. */
    undelivered: deliveries.open,
    /** Sends an enquire_link to every client. Resolves when all have answered. */
    enquire: () =>
      Promise.all(
        links.map(
          ({ session }) =>
            new Promise<void>((resolve) => {
              session.send(new smpp.PDU('enquire_link'), () => resolve())
            }),
        ),
      ),
    /** Unbinds every session. */
    unbindAll: () => links.forEach(unbind),
    /** Breaks every connection. */
    dropAll: () => links.forEach(({ session }) => void session.destroy()),
    /** Stops until `up`; ids continue. */
    down,
    up: async () => void (await listen(port)),
    /** Stops and starts on the same port; ids begin again. */
    async restart(): Promise<void> {
      await down()
      store.beginIdsAnew()
      await listen(port)
    },
    /** Resolves when `holds` does. It is checked after each event. */
    when: watchers.when,
    async close(): Promise<void> {
      deliveries.close()
      if ('listening' in server && server.listening) await down()
    },
  }
}

/** Waits for conditions, which are checked again on each change. */
function createWatchers() {
  let watchers: { holds(): boolean; resolve(): void }[] = []

  function changed(): void {
    const done = watchers.filter(({ holds }) => holds())
    watchers = watchers.filter((watcher) => !done.includes(watcher))
    for (const { resolve } of done) resolve()
  }

  return {
    /** Checks every condition. */
    changed,
    /** Resolves when `holds` does. */
    when(holds: () => boolean): Promise<void> {
      return new Promise((resolve) => {
        watchers.push({ holds, resolve })
        changed()
      })
    },
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await (await import('./smsc-alone.ts')).runAlone(startSmsc)
}
