import { setTimeout as pause } from 'node:timers/promises'
import { Svc } from '@svc/client'
import { UNITS_PER_CREDIT } from '@svc/core/contract'
import { getBytes, openConnection } from '../stage/connection.ts'
import type { Violations } from '../stage/violations.ts'
import type { Evidence } from './evidence.ts'
import { idsAnswered } from './operations.ts'

const CONNECTIONS = 32

/** A request that is refused for overload is repeated for at most this time in total. */
const REFUSED_WAIT_MS = 250
const REFUSED_MAX_MS = 120_000

/** Compares the API of the running service with everything that it promised. */
export async function checkApi(
  url: string,
  { operations, accounts, stored }: Evidence,
  { rule }: Violations,
): Promise<void> {
  const shown = rule('the API shows every 201, in its final state')
  const totals = rule('the API counts the messages and credits that the database has')

  const waiting = operations.flatMap((operation) =>
    idsAnswered(operation).map((id) => ({ id, operation })),
  )
  const until = performance.now() + REFUSED_MAX_MS
  async function readMessages(): Promise<void> {
    const connection = await openConnection(url)
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const { id, operation } = next
      const key = accounts[operation.account]?.keys[operation.mode] ?? ''
      const { status, body } = await connection.request(
        getBytes(url, `/api/v1/messages/${id}`, key),
      )
      // An overloaded machine refuses the request, which says nothing about the message.
      if (status === 429 && performance.now() < until) {
        waiting.push({ id, operation })
        await pause(REFUSED_WAIT_MS)
        continue
      }
      if (status !== 200) {
        shown(`${id}: ${status} ${body}`)
        continue
      }
      const { message } = (JSON.parse(body) as { data: { message: { status: string } } }).data
      if (message.status !== operation.recipient.fate?.status) shown(`${id}: ${message.status}`)
    }
    connection.close()
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, readMessages))

  for (const { workspace_id, token, keys } of accounts) {
    const client = new Svc({ baseUrl: url, apiKey: keys.live, token })
    const { pagination } = await client.messages.list({ limit: 1 })
    const balance = (await client.workspaces.account()).credits_balance * UNITS_PER_CREDIT
    const count = stored.messages.filter((each) => each.workspace_id === workspace_id).length
    const expected = stored.balances.find((each) => each.workspace_id === workspace_id)?.balance
    if (pagination.total !== count) totals(`${pagination.total} messages of ${count}`)
    if (Math.round(balance) !== expected) totals(`${balance}, not ${expected}`)
  }
}
