import { createStripePayments } from '@svc/core'
import Stripe from 'stripe'
import {
  createLocalStripe,
  type LocalStripe,
  type LocalStripeOptions,
} from '../../core/test/stripe/local-stripe.ts'
import type { Account } from './accounts.ts'
import { expectStatus } from './call.ts'
import type { Answer } from './every-answer.ts'
import { BEGINNING_MS, openWorld, type World, type WorldOptions } from './world.ts'

/** The signing secrets of the service, while one is rolled. */
export const SECRETS = ['whsec_new', 'whsec_old'] as const

/** An event at Stripe. */
export type StripeEvent = ReturnType<LocalStripe['takeEvents']>[number]

/** The options of a notification. */
export interface Sending {
  secret?: string
  /** The time of the signature; default: now. */
  at?: Date
}

export type Shop = Awaited<ReturnType<typeof openShop>>

/** A world whose payments go through a local Stripe. */
export async function openShop(
  options: Omit<LocalStripeOptions, 'now'> = {},
  others: Pick<WorldOptions, 'console'> = {},
) {
  let world: World | null = null
  const now = () => world?.now() ?? new Date(BEGINNING_MS)
  const stripe = createLocalStripe({ ...options, now })
  const { secret_key, transport } = stripe
  const warnings: string[] = []
  const silent = () => {}
  const note = (_about: object, text: string) => void warnings.push(text)
  const log = { debug: silent, info: silent, warn: note, error: note }
  const payments = await createStripePayments({
    secret_key,
    webhook_secrets: SECRETS,
    now,
    log,
    transport,
    retries_max: 0,
  })
  const opened = await openWorld({ payments, ...others })
  world = opened

  /** The signature header of Stripe for these bytes. */
  function signatureOf(payload: string, { secret = SECRETS[0], at = now() }: Sending = {}): string {
    const timestamp = Math.floor(at.getTime() / 1000)
    return Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp })
  }

  const post = (raw: string, signature: string): Promise<Answer> =>
    opened.call('POST', '/api/v1/billing/webhook', {
      raw,
      headers: { 'stripe-signature': signature },
    })

  /** Sends a notification as Stripe does. */
  const notify = (event: object, sending?: Sending): Promise<Answer> => {
    const raw = JSON.stringify(event, null, 2)
    return post(raw, signatureOf(raw, sending))
  }

  /** Sends all events since the last call, and checks that they are accepted. */
  async function notifyAll(): Promise<void> {
    for (const event of stripe.takeEvents()) expectStatus(200, await notify(event))
  }

  async function checkout(
    { token }: Account,
    json: object = { package_id: 'starter' },
  ): Promise<{ purchase_id: string; session_id: string; checkout_url: string }> {
    const made = await opened.call('POST', '/api/v1/billing/checkout', { token, json })
    return expectStatus(201, made).body.data
  }

  /** Buys the package of 1,000 credits for 10.00 USD and pays it; returns the payment at Stripe. */
  async function buy(account: Account): Promise<{ purchase_id: string; payment_id: string }> {
    const { purchase_id, session_id } = await checkout(account)
    stripe.pay(session_id)
    await notifyAll()
    return { purchase_id, payment_id: paymentOf(session_id) }
  }

  /** Buys it too; returns Stripe's event, which is not sent. */
  async function payWithoutNotification(account: Account): Promise<StripeEvent> {
    const { session_id } = await checkout(account)
    stripe.takeEvents()
    stripe.pay(session_id)
    const [event] = stripe.takeEvents()
    if (!event) throw new Error('no event was found')
    return event
  }

  /** The payment of a paid session. */
  function paymentOf(session_id: string): string {
    const { payment_intent } = stripe.sessions.get(session_id) ?? {}
    if (!payment_intent) throw new Error('nothing was paid')
    return payment_intent
  }

  /** The entries of the account's ledger, oldest first: kind and credits. */
  async function ledger({ token }: Account): Promise<[string, number][]> {
    const { body } = await opened.call('GET', '/api/v1/billing/transactions', { token })
    const entries: { type: string; credits: number }[] = body.data.transactions
    return entries.reverse().map(({ type, credits }) => [type, credits])
  }

  return {
    world: opened,
    stripe,
    warnings,
    signatureOf,
    post,
    notify,
    notifyAll,
    checkout,
    buy,
    payWithoutNotification,
    paymentOf,
    ledger,
  }
}
