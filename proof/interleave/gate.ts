import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type NetConnectOpts, type Socket } from 'node:net'
import { join } from 'node:path'

/** What happens to a statement that a gate releases. */
export type Fate =
  | 'runs'
  /** The server raises this error in its place. */
  | 'serialization_failure'
  | 'deadlock_detected'
  /** The connection is cut before the statement reaches the server, or after the server ran it. */
  | 'lost_before'
  | 'lost_after'

/** A statement that waits at a gate, or that the server runs. */
export interface Step {
  /** The number of its connection at this gate. */
  readonly line: number
  /** The process of the session in the server. */
  readonly pid: number
  /** For reports: the names of the statements, or the text of a simple query. */
  readonly label: string
  /** Resolves when the server answered it. */
  readonly done: Promise<void>
  isDone(): boolean
  release(fate: Fate): void
}

/**
 * A proxy between one server of the service and PostgreSQL. While it is shut, each statement waits until it is released;
 * statements that travel together are released one by one.
 */
export interface Gate {
  /** The URL of the database through this gate. */
  readonly url: string
  shut(): void
  /** Releases everything, now and later. */
  open(): void
  /** The statements that wait, the oldest of each connection. */
  waiting(): Step[]
  /** Resolves when a statement arrives. */
  arrived(): Promise<void>
  close(): Promise<void>
}

const TYPE = { bind: 0x42, execute: 0x45, parse: 0x50, query: 0x51, sync: 0x53, terminate: 0x58 }
const ANSWER = { complete: 0x43, empty: 0x49, error: 0x45, key: 0x4b, ready: 0x5a, suspended: 0x73 }

/** Asks the server to answer what it has run; it would wait for the end of the batch. */
const FLUSH = Buffer.from([0x48, 0, 0, 0, 4])

/** These run at once: they have no effect on other sessions. Some belong to a connection and not to an operation. */
const OWN =
  /^(?:begin|discard_plans|(?:un)?listen\b.*|select (?:set_config|current_setting|not pg_is_in_recovery)\(.*)$/is

/** Where a connection leads, as the driver's client names it; the user needs no password. */
export interface Target {
  readonly host: string
  readonly port: number
  readonly user?: string | undefined
  readonly database?: string | undefined
}

/** Opens a gate before a database. */
export async function openGate({
  host,
  port: upstreamPort,
  user,
  database,
}: Target): Promise<Gate> {
  const upstream = host.startsWith('/')
    ? { path: join(host, `.s.PGSQL.${upstreamPort}`) }
    : { host, port: upstreamPort }
  const lines = new Set<Line>()
  let isShut = false
  let count = 0
  let listeners: (() => void)[] = []
  const onArrival = () => {
    for (const listener of listeners.splice(0)) listener()
  }
  const server = createServer({ noDelay: true }, (client) => {
    const line = lineOf({ client, upstream, number: count++, isShut: () => isShut, onArrival })
    lines.add(line)
    client.once('close', () => lines.delete(line))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `postgres://${user}@127.0.0.1:${port}/${database}`,
    shut() {
      isShut = true
    },
    open() {
      isShut = false
      for (const line of lines) line.drain()
    },
    waiting: () => [...lines].flatMap((line) => line.next() ?? []),
    arrived: () => new Promise((resolve) => listeners.push(resolve)),
    async close() {
      listeners = []
      for (const line of lines) line.cut()
      server.close()
      await once(server, 'close')
    },
  }
}

interface Line {
  next(): Step | null
  drain(): void
  cut(): void
}

/** Messages to the server that are released together: up to an `Execute`, or one simple query. */
interface Unit {
  parts: Buffer[]
  label: string
  /** Whether the server answers with `ReadyForQuery` after it. */
  isLast: boolean
  step: Step
  settle(): void
}

interface LineOptions {
  client: Socket
  upstream: NetConnectOpts
  number: number
  isShut(): boolean
  onArrival(): void
}

function lineOf({ client, upstream, number, isShut, onArrival }: LineOptions): Line {
  const server = connect(upstream)
  const waiting: Unit[] = []
  let building: { parts: Buffer[]; names: string[] } = { parts: [], names: [] }
  let inFlight: { unit: Unit; fate: Fate } | null = null
  let hasFailed = false
  let pid = 0
  const cut = () => {
    client.destroy()
    server.destroy()
    inFlight?.unit.settle()
    inFlight = null
    for (const unit of waiting.splice(0)) unit.settle()
  }
  for (const socket of [client, server]) socket.on('error', cut).on('close', cut)

  function send(unit: Unit, fate: Fate): void {
    waiting.splice(waiting.indexOf(unit), 1)
    if (fate === 'lost_before') {
      unit.settle()
      cut()
      return
    }
    inFlight = { unit, fate }
    if (fate === 'serialization_failure' || fate === 'deadlock_detected') {
      raise(unit, fate)
      return
    }
    server.write(unit.isLast ? Buffer.concat(unit.parts) : Buffer.concat([...unit.parts, FLUSH]))
  }

  /** Lets the server fail in place of the rest of the batch, so that the transaction fails as with a real conflict. */
  function raise(unit: Unit, fate: Fate): void {
    while (!unit.isLast) {
      const rest = waiting.shift()
      rest?.settle()
      unit.isLast = rest?.isLast ?? true
    }
    const text = `do $$ begin raise exception sqlstate '${fate === 'deadlock_detected' ? '40P01' : '40001'}'; end $$\0`
    const head = Buffer.alloc(5)
    head[0] = TYPE.query
    head.writeInt32BE(4 + Buffer.byteLength(text), 1)
    server.write(Buffer.concat([head, Buffer.from(text)]))
  }

  function arrive(): void {
    const { parts, names } = building
    building = { parts: [], names: [] }
    let settle = () => {}
    let isDone = false
    const done = new Promise<void>((resolve) => {
      settle = () => {
        isDone = true
        resolve()
      }
    })
    const unit: Unit = {
      parts,
      label: names.join(' '),
      isLast: false,
      settle: () => settle(),
      step: {
        line: number,
        pid,
        label: names.join(' '),
        done,
        isDone: () => isDone,
        release: (fate) => send(unit, fate),
      },
    }
    waiting.push(unit)
  }

  /** Releases what is not a choice: everything while open, statements of the connection, and the rest of a failed batch. */
  function advance(): void {
    while (!inFlight) {
      const [first] = waiting
      if (!first) return
      if (isShut() && !hasFailed && !OWN.test(first.label)) {
        onArrival()
        return
      }
      if (hasFailed && !first.isLast) {
        // The server skips it.
        server.write(Buffer.concat(first.parts))
        waiting.shift()
        first.settle()
      } else {
        send(first, 'runs')
      }
    }
  }

  function fromClient(type: number, message: Buffer): void {
    if (type === TYPE.terminate) {
      server.write(message)
      return
    }
    if (type === TYPE.sync) {
      const last = waiting.at(-1)
      if (last && !last.isLast && building.parts.length === 0) {
        last.parts.push(message)
        last.isLast = true
        return
      }
      building.parts.push(message)
      arrive()
      const unit = waiting.at(-1)
      if (unit) unit.isLast = true
      return
    }
    building.parts.push(message)
    if (type === TYPE.bind) building.names.push(nameIn(message))
    if (type === TYPE.query) building.names.push(message.toString('utf8', 5, message.length - 1))
    // A prepared statement without a name has its text here.
    if (type === TYPE.parse && message[5] === 0)
      building.names.push(message.toString('utf8', 6, 86))
    if (type === TYPE.execute || type === TYPE.query) {
      arrive()
      const unit = waiting.at(-1)
      if (unit && type === TYPE.query) unit.isLast = true
    }
  }

  client.on(
    'data',
    framed({
      hasStartup: true,
      onStartup: (message) => server.write(message),
      onMessage: fromClient,
      onEnd: advance,
    }),
  )
  const answers: Buffer[] = []
  server.on(
    'data',
    framed({
      hasStartup: false,
      onStartup() {},
      onMessage(type, message) {
        if (type === ANSWER.key) pid = message.readInt32BE(5)
        const { unit, fate } = inFlight ?? {}
        const ends = unit?.isLast
          ? [ANSWER.ready]
          : [ANSWER.complete, ANSWER.empty, ANSWER.suspended, ANSWER.error]
        if (unit && fate === 'lost_after') {
          if (ends.includes(type)) cut()
          return
        }
        answers.push(message)
        if (type === ANSWER.error) hasFailed = true
        if (type === ANSWER.ready) hasFailed = false
        if (!unit || !ends.includes(type)) return
        inFlight = null
        unit.settle()
      },
      onEnd() {
        if (answers.length > 0) client.write(Buffer.concat(answers.splice(0)))
        advance()
      },
    }),
  )
  return {
    next: () => (!inFlight && isShut() ? (waiting[0]?.step ?? null) : null),
    drain: advance,
    cut,
  }
}

/** The name of the prepared statement in a `Bind`. */
function nameIn(bind: Buffer): string {
  const portalEnd = bind.indexOf(0, 5)
  return bind.toString('utf8', portalEnd + 1, bind.indexOf(0, portalEnd + 1))
}

/** Splits a stream into messages of the protocol, version 3 (PostgreSQL documentation, chapter 54.7). */
function framed({
  hasStartup,
  onStartup,
  onMessage,
  onEnd,
}: {
  hasStartup: boolean
  onStartup(message: Buffer): void
  onMessage(type: number, message: Buffer): void
  onEnd(): void
}): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0)
  let isStarted = !hasStartup
  return (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    for (;;) {
      const head = isStarted ? 1 : 0
      if (rest.length < head + 4) break
      const length = head + rest.readInt32BE(head)
      if (rest.length < length) break
      const message = rest.subarray(0, length)
      rest = rest.subarray(length)
      if (isStarted) onMessage(message[0] as number, message)
      else {
        isStarted = true
        onStartup(message)
      }
    }
    onEnd()
  }
}
