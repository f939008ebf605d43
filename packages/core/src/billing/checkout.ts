import { createHash } from 'node:crypto'
import type { Body, BodyIn, Data, Form } from '../contract/endpoints/endpoint.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import { units, withUnit } from '../contract/fields/units.ts'
import { LIMITS } from '../contract/limits.ts'
import type { CreditPackage, billing as endpoints } from '../contract/resources/billing.ts'
import type { PurchaseRow } from '../rows/rows.ts'
import type { IdempotencyRecord } from '../rules/accept.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Reads, Storage } from '../storage/ports/storage.ts'
import type { Order, PaymentProvider, Session } from './payment.ts'

type Request = Body<typeof endpoints.checkout>
/** A purchase that has begun, with the page on which it is paid. */
export type Begun = Data<typeof endpoints.checkout>
/** A request with an idempotency key. */
type KeyedRequest = Omit<IdempotencyRecord, 'response'>

/** Begins a purchase, or returns the purchase that the same key began before; `replayed` is then true. */
export type Checkout<F extends Form = 'given'> = (
  workspaceId: string,
  request: BodyIn<typeof endpoints.checkout, F>,
  options?: { idempotency_key?: string | undefined },
) => Promise<{ data: Begun; replayed: boolean }>

export interface CheckoutParts {
  storage: Storage
  runtime: Runtime
  packages: readonly CreditPackage[]
  payments: PaymentProvider | null
}

/**
 * Begins purchases. The row is stored first, and its id is the idempotency key at the provider. A repeated or concurrent
 * request with the same key therefore continues the same purchase, also after a crash.
 */
export function createCheckout({
  storage,
  runtime,
  packages,
  payments,
}: CheckoutParts): Checkout<'decoded'> {
  /** The purchase that the key of this request began, or null. */
  async function begunBefore(
    { idempotencyRecords, purchases }: Pick<Reads, 'idempotencyRecords' | 'purchases'>,
    workspaceId: string,
    keyed: KeyedRequest,
  ): Promise<PurchaseRow | null> {
    const known = await idempotencyRecords.byKey(workspaceId, keyed)
    if (!known) return null
    if (known.request_hash !== keyed.request_hash) throw keyReused()
    const { purchase_id } = JSON.parse(known.response) as Pick<Begun, 'purchase_id'>
    const begun = await purchases.byId(workspaceId, purchase_id)
    if (!begun) throw new Error(`purchase ${purchase_id} is missing`)
    return begun
  }

  /** Stores a new purchase, or returns the purchase that the same idempotency key began before. */
  async function begin(
    purchase: PurchaseRow,
    answer: IdempotencyRecord | null,
  ): Promise<{ purchase: PurchaseRow; isNew: boolean }> {
    const { workspace_id, created_at } = purchase
    return storage.write(async ({ purchases, idempotencyRecords }) => {
      const isNew =
        answer === null || (await idempotencyRecords.keepFirst(workspace_id, answer, created_at))
      if (isNew) {
        await purchases.insert(purchase)
        return { purchase, isNew }
      }
      const begun = await begunBefore({ idempotencyRecords, purchases }, workspace_id, answer)
      // The provider refused the earlier purchase meanwhile, and the refusal released the key.
      if (!begun) throw retrySoon()
      return { purchase: begun, isNew }
    })
  }

  async function openSession(provider: PaymentProvider, order: Order): Promise<Session | null> {
    try {
      return await provider.open(order)
    } catch (error) {
      // The provider may have opened the session. The purchase and its key stay, so that a retry finds the session.
      runtime.log.warn({ err: error, purchase_id: order.purchase_id }, 'no checkout was opened')
      throw refused()
    }
  }

  /** The refusal is not stored, so that the client can use the key again. */
  async function refuse(purchase: PurchaseRow, answer: IdempotencyRecord | null): Promise<never> {
    const updated_at = runtime.now()
    await storage.write(async ({ purchases, idempotencyRecords }) => {
      const isOurs = await purchases.change(purchase, { status: 'failed', updated_at })
      if (isOurs && answer) await idempotencyRecords.forget(purchase.workspace_id, answer)
    })
    throw refused()
  }

  /** Stores the session. Returns false if a concurrent request has already stored a session. */
  async function keepSession(purchase: PurchaseRow, session: Session): Promise<boolean> {
    const updated_at = runtime.now()
    return storage.write(({ purchases }) => purchases.change(purchase, { ...session, updated_at }))
  }

  return async (workspaceId, request, { idempotency_key } = {}) => {
    const keyed = idempotency_key === undefined ? null : keyedOf(request, idempotency_key)
    // A replay does not depend on the current packages and provider.
    const before = keyed && (await begunBefore(storage.read, workspaceId, keyed))
    if (before?.session_id) return { data: begunOf(before), replayed: true }
    if (!payments) throw refused()
    const bought = packages.find(({ id }) => id === request.package_id)
    if (!bought) throw unknownPackage()
    const row = purchaseOf(runtime, payments, workspaceId, { bought, request })
    const answer = keyed && answerOf(row, keyed)
    const { purchase, isNew } = await begin(row, answer)
    const replayed = !isNew
    if (purchase.session_id !== null) return { data: begunOf(purchase), replayed }
    const session = await openSession(payments, orderOf(purchase, bought))
    if (!session) return refuse(purchase, answer)
    if (await keepSession(purchase, session)) {
      return { data: begunOf({ ...purchase, ...session }), replayed }
    }
    const now = await storage.read.purchases.byId(workspaceId, purchase.id)
    if (!now?.session_id) throw refused()
    return { data: begunOf(now), replayed }
  }
}

function purchaseOf(
  runtime: Pick<Runtime, 'id' | 'now'>,
  { name: provider }: PaymentProvider,
  workspace_id: string,
  { bought, request }: { bought: CreditPackage; request: Request },
): PurchaseRow {
  const at = runtime.now()
  return {
    id: runtime.id(),
    workspace_id,
    package_id: bought.id,
    status: 'pending',
    credits: creditsIn(bought),
    amount: bought.price.amount,
    currency: bought.price.currency,
    provider,
    session_id: null,
    payment_id: null,
    checkout_url: null,
    success_url: request.success_url ?? null,
    cancel_url: request.cancel_url ?? null,
    version: 0,
    expires_at: new Date(at.getTime() + LIMITS.checkout_lifetime_s * 1000),
    created_at: at,
    updated_at: at,
    review_reason: null,
    paid_at: null,
  }
}

function creditsIn({ credits, bonus_credits }: CreditPackage) {
  return units(credits + bonus_credits)
}

function keyedOf(request: Request, key: string): KeyedRequest {
  const { package_id, success_url = null, cancel_url = null } = request
  const text = JSON.stringify([package_id, success_url, cancel_url])
  return {
    route: 'billing.checkout',
    key,
    request_hash: createHash('sha256').update(text).digest('hex'),
  }
}

/** The record is stored before the request to the provider, so it holds only the purchase's id. The row has the rest. */
function answerOf({ id }: PurchaseRow, keyed: KeyedRequest): IdempotencyRecord {
  return { ...keyed, response: JSON.stringify({ purchase_id: id }) }
}

function orderOf(purchase: PurchaseRow, { name }: CreditPackage): Order {
  const { id, expires_at, created_at, ...rest } = purchase
  return {
    workspace_id: rest.workspace_id,
    purchase_id: id,
    description: `${name}: ${withUnit(rest.credits)}`,
    amount: rest.amount,
    currency: rest.currency,
    success_url: rest.success_url,
    cancel_url: rest.cancel_url,
    expires_at: expires_at ?? created_at,
  }
}

function begunOf({ id, session_id, checkout_url, expires_at }: PurchaseRow): Begun {
  if (!session_id || !checkout_url || !expires_at) throw new Error(`purchase ${id} has no session`)
  return { purchase_id: id, session_id, checkout_url, expires_at }
}

function refused(): SvcError {
  return new SvcError('insufficient_credits', 'Credit purchase failed')
}

function unknownPackage(): SvcError {
  return invalid('package_id', 'Unknown credit package')
}

function retrySoon(): SvcError {
  return new SvcError('rate_limit_exceeded', 'Too many requests. Please try again later.', {
    retry_after_s: 1,
  })
}

function keyReused(): SvcError {
  return invalid('Idempotency-Key', 'This Idempotency-Key was used with another request body')
}
