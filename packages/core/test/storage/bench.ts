import { afterEach, beforeEach } from 'vitest'
import { units } from '../../src/contract/fields/units.ts'
import type { Receipt } from '../../src/contract/outside/provider.ts'
import type { DeliveryRow, MessageRow, WebhookRow } from '../../src/rows/rows.ts'
import type { AcceptRequest, AcceptResult } from '../../src/rules/accept.ts'
import type { ClaimedMessage } from '../../src/rules/claim.ts'
import type { Account, Entry } from '../../src/rules/decide.ts'
import type { ClaimedDelivery } from '../../src/rules/deliveries.ts'
import type { DeliveryResult } from '../../src/rules/record.ts'
import type { Reported, Settlement } from '../../src/rules/settlement.ts'
import { reportsOf, type StatusReport } from '../../src/rules/step.ts'
import type { DeliveryClaim, MessageClaim } from '../../src/storage/ports/hot.ts'
import type { Storage } from '../../src/storage/ports/storage.ts'
import type { OpenedWebhook } from '../../src/webhooks/sealed-webhook.ts'
import { type Builders, builders, SMS_PRICE, type TestRuntime, testRuntime } from '../fixtures.ts'

/** A storage that is empty, open, and on disk. */
export interface Opened {
  storage: Storage
  /** Closes it and opens it again. */
  reopen(): Promise<Storage>
  /** Closes it for good. */
  close(): Promise<void>
}

export type OpenStorage = () => Promise<Opened>

export const LEASE_MS = 30_000

/** One page that holds all. */
export const EVERYTHING = { limit: 1_000_000, offset: 0 }

/** A fresh storage for each test of a suite, and the steps that the tests are made of. */
export type Bench = ReturnType<typeof benchFor>

/** Gives every test of the enclosing suite its own storage. */
export function benchFor(
  open: OpenStorage,
  {
    elapsed,
    seed = () => 'bench',
  }: {
    /** Whether due times use a real clock, which moves. */
    elapsed?: () => number
    /** Of the runtime of the next test. */
    seed?: () => string
  } = {},
) {
  let clock = testRuntime(seed())
  let make = builders(clock)
  let opened: Opened | undefined
  let storage: Storage
  beforeEach(async () => {
    clock = testRuntime(seed())
    make = builders(clock)
    opened = await open()
    storage = opened.storage
  })
  afterEach(() => opened?.close())
  const current: Current = {
    get clock() {
      return clock
    },
    get make() {
      return make
    },
    get storage() {
      return storage
    },
    time(now = clock.now()) {
      if (elapsed) return { now, elapsed_ms: elapsed() }
      return { now, elapsed_ms: clock.elapsed() + now.getTime() - clock.now().getTime() }
    },
  }
  return Object.assign(current, {
    ...accountSteps(current),
    ...messageSteps(current),
    ...webhookSteps(current),
    async reopen(): Promise<void> {
      if (opened) storage = await opened.reopen()
    },
  })
}

/** What the running test works with. */
interface Current {
  readonly clock: TestRuntime
  readonly make: Builders
  readonly storage: Storage
  /** The present, or what it is once time has passed until then. */
  time(now?: Date): { now: Date; elapsed_ms: number }
}

function accountSteps(bench: Current) {
  return {
    /** A new workspace with credit for so many messages; answers its id. */
    async workspace(messages = 100): Promise<string> {
      const row = bench.make.workspace()
      await bench.storage.write(async ({ workspaces, credits }) => {
        await workspaces.insert(row)
        await credits.open(row.id, bench.clock.now())
        if (messages > 0) {
          await credits.post(row.id, bench.make.grant(units(messages * SMS_PRICE)))
        }
      })
      return row.id
    },
    async account(workspaceId: string): Promise<Account> {
      const account = await bench.storage.read.credits.account(workspaceId)
      if (!account) throw new Error(`${workspaceId} has no account`)
      return account
    },
    /** The whole ledger, oldest first. */
    async ledger(workspaceId: string): Promise<Entry[]> {
      return (await bench.storage.read.credits.entries(workspaceId, EVERYTHING)).reverse()
    },
  }
}

function messageSteps(bench: Current) {
  async function accept(request: AcceptRequest): Promise<AcceptResult> {
    return only(await bench.storage.hot.accept([request]))
  }

  async function settle(
    claimed: Pick<ClaimedMessage, 'workspace_id' | 'message_id'> & { token: string | null },
    result: Settlement['result'],
    overrides: Partial<Settlement> = {},
  ): Promise<boolean> {
    const { workspace_id, message_id, token } = claimed
    const settlement: Settlement = {
      workspace_id,
      message_id,
      token,
      provider: 'carrier',
      abilities: { idempotent: false, lookup: false },
      result,
      at: bench.clock.now(),
      ...overrides,
    }
    return only(await bench.storage.hot.settle([settlement]))
  }

  return {
    /** Accepts one request, whatever the answer. */
    accept,
    /** Settles what a claim gave; answers whether it counted. */
    settle,
    async message(workspaceId: string, messageId: string): Promise<MessageRow> {
      const message = await bench.storage.read.messages.byId(workspaceId, messageId)
      if (!message) throw new Error(`${messageId} is not there`)
      return message
    },
    /** A message that was accepted just now. */
    async queued(workspaceId: string, overrides: Partial<MessageRow> = {}): Promise<MessageRow> {
      const request = bench.make.send(workspaceId, overrides)
      const { outcome } = await accept(request)
      if (outcome !== 'accepted') throw new Error(`not accepted: ${outcome}`)
      return only(request.messages)
    },
    claimMessages(overrides: Partial<MessageClaim> = {}): Promise<ClaimedMessage[]> {
      return bench.storage.hot.claimMessages({
        ...bench.time(overrides.now),
        limit: 1_000,
        lease_ms: LEASE_MS,
        token: bench.clock.id(),
        route: () => ({ provider: 'carrier', sender: null }),
        ...overrides,
      })
    },
    /** Settles what a provider called back. */
    callback({ workspace_id, id }: MessageRow, ...statuses: Reported[]): Promise<boolean> {
      return settle({ workspace_id, message_id: id, token: null }, callback(...statuses))
    },
  }
}

function webhookSteps(bench: Current) {
  return {
    async webhook(
      workspaceId: string,
      overrides: Partial<OpenedWebhook> = {},
    ): Promise<WebhookRow> {
      const webhook = bench.make.webhook(workspaceId, overrides)
      await bench.storage.write(({ webhooks }) => webhooks.insert(webhook))
      return webhook
    },
    claimDeliveries(overrides: Partial<DeliveryClaim> = {}): Promise<ClaimedDelivery[]> {
      return bench.storage.hot.claimDeliveries({
        ...bench.time(overrides.now),
        limit: 1_000,
        limit_per_webhook: 1_000,
        limit_per_workspace: 1_000,
        room_of_webhook: new Map(),
        room_of_workspace: new Map(),
        lease_ms: LEASE_MS,
        token: bench.clock.id(),
        ...overrides,
      })
    },
    /** Records the result of one try of a delivery; default: a 200 after 40 ms. */
    async record(
      claimed: Pick<ClaimedDelivery, 'workspace_id' | 'webhook_id' | 'delivery_id' | 'token'>,
      overrides: Partial<DeliveryResult> = {},
    ): Promise<boolean> {
      const { workspace_id, webhook_id, delivery_id, token } = claimed
      const result: DeliveryResult = {
        workspace_id,
        webhook_id,
        delivery_id,
        token,
        started_at: bench.clock.now(),
        duration_ms: 40,
        response_status: 200,
        response_body: 'ok',
        error: null,
        retry_after_ms: null,
        ...overrides,
      }
      return only(await bench.storage.hot.recordDeliveries([result]))
    },
    /** The reports about a message, in the order of its timeline. */
    async reportsOf(workspaceId: string, messageId: string): Promise<StatusReport[]> {
      const { messages } = bench.storage.read
      const message = await messages.byId(workspaceId, messageId)
      if (!message) throw new Error(`${messageId} is not there`)
      return reportsOf(message, await messages.events(workspaceId, messageId))
    },
    /** The deliveries about a message, oldest first. */
    deliveriesOf({ workspace_id, id }: MessageRow): Promise<DeliveryRow[]> {
      return bench.storage.read.webhooks.deliveriesOf(workspace_id, id)
    },
  }
}

/** What a provider calls back; a failure says why. */
export function callback(...statuses: Reported[]): Settlement['result'] {
  return { task: 'callback', receipts: statuses.map(receipt) }
}

/** A provider's receipt for a message; a failure has a reason. */
export function receipt(status: Reported): Receipt {
  const failed = status === 'failed'
  return {
    status,
    provider_message_id: 'P1',
    error_code: failed ? 'undelivered' : null,
    error_message: failed ? 'The handset could not be reached' : null,
  }
}

/** The one element of a list that must have exactly one. */
export function only<T>(items: readonly T[]): T {
  const [item] = items
  if (items.length !== 1 || item === undefined) {
    throw new Error(`expected one, got ${items.length}`)
  }
  return item
}
