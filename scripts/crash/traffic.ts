import { type Connection, openConnection, requestBytes } from '../../bench/connection.ts'
import type { Account } from './accounts.ts'
import type { Operation, Operations, Try } from './operations.ts'
import type { Random } from './random.ts'

/** Callers that send without a pause, whoever is there to answer. */
export interface Traffic {
  /** Where the service is now; null when it is dead. */
  aim(url: string | null): void
  /** Stops making new wishes, tries once more what nobody knows of, and resolves when all callers are done. */
  finish(): Promise<void>
}

export interface TrafficOptions {
  operations: Operations
  accounts: readonly Account[]
  random: Random
  connections: number
  /** How many messages came to their end so far. */
  finished: () => number
}

/** So many messages may be under way: enough to be killed in the middle of, few enough to be done with at the end. */
const BACKLOG_MAX = 1_500

/** A wish that got no answer is tried again by most callers, not by all. */
const RETRY_PERCENT = 75
/** Impatient callers send the same wish twice at once, or again after it was accepted. */
const TWICE_PERCENT = 6

const WAIT_MS = 5

export function startTraffic(options: TrafficOptions): Traffic {
  const { operations, accounts, random, connections, finished } = options
  const again: Operation[] = []
  let url: string | null = null
  let isFinishing = false
  let accepted = 0

  function choose(): Operation | null {
    const repeated = again.shift()
    if (repeated) return repeated
    if (isFinishing || accepted - finished() > BACKLOG_MAX) return null
    const operation = operations.next()
    if (operation.idempotency_key && random.percent(TWICE_PERCENT)) again.push(operation)
    return operation
  }

  function note(operation: Operation, result: Try): void {
    if (result.outcome === 'ok' && !result.replayed) accepted += 1
    operation.tries.push(result)
    if (operation.idempotency_key === null) return
    if (result.outcome === 'info' ? random.percent(RETRY_PERCENT) : random.percent(1)) {
      again.push(operation)
    }
  }

  async function talk(connection: Connection, target: string): Promise<void> {
    while (url === target) {
      const operation = choose()
      if (!operation) {
        if (isFinishing) return
        await pause()
        continue
      }
      const bytes = bytesOf(operation, accounts[operation.account] as Account, target)
      const result = await connection.request(bytes).then(tryOf, (): Try => ({ outcome: 'info' }))
      note(operation, result)
      if (result.outcome === 'info') return
    }
  }

  async function caller(): Promise<void> {
    while (!isFinishing || (url !== null && again.length > 0)) {
      const target = url
      const connection = target && (await openConnection(target).catch(() => null))
      if (target && connection) {
        await talk(connection, target)
        connection.close()
      }
      await pause()
    }
  }

  const callers = Array.from({ length: connections }, caller)
  return {
    aim(target) {
      url = target
    },
    async finish() {
      isFinishing = true
      await Promise.all(callers)
    },
  }
}

function bytesOf(operation: Operation, account: Account, url: string): Buffer {
  const { number, mode, recipient, idempotency_key } = operation
  const { channel, to } = recipient
  const text = `Message ${number}`
  return requestBytes(url, {
    method: 'POST',
    path: '/api/v1/messages/send',
    headers: {
      'X-API-Key': account.keys[mode],
      ...(idempotency_key && { 'Idempotency-Key': idempotency_key }),
    },
    body: {
      to,
      channel,
      content: channel === 'sms' ? { text } : { subject: text, text },
      metadata: { op: number },
    },
  })
}

function tryOf({ status, head, body }: { status: number; head: string; body: string }): Try {
  if (status !== 201) return { outcome: 'fail', status, text: body }
  const { data } = JSON.parse(body) as { data: { message_id: string } }
  const replayed = /\r\nidempotent-replayed: true/i.test(head)
  return { outcome: 'ok', message_id: data.message_id, replayed }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, WAIT_MS))
}
