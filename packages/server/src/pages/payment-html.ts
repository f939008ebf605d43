import type { Purchase } from '@svc/core'
import { creditsOf, UNITS_MAX, units } from '@svc/core/contract'
import { consoleWay, escapeHtml, type Frame, notice, plainPage, type Way } from './plain-page.ts'

/** The status that a payment page shows. */
type PaymentStatus = 'open' | 'paid' | 'failed' | 'expired'

/** What the payer buys, for the summary. */
interface Order {
  purchase: Purchase
  package_name: string
  workspace_name: string
  /** The balance of the workspace now, in micro-credits. */
  balance: Purchase['credits']
}

/** What the result of a payment needs to know. */
interface Outcome {
  purchase: Purchase
  /** The balance of the workspace now, in micro-credits; null if it is not shown. */
  balance: Purchase['credits'] | null
  /** Whether the payment was simulated. */
  is_sandbox: boolean
}

const SANDBOX = 'SANDBOX'

/** The form to pay. It posts to the page's own URL. */
export function paymentForm(frame: Frame, order: Order): string {
  const { purchase } = order
  return plainPage(frame, {
    title: `Pay ${priceText(purchase)} for ${creditsText(purchase)}`,
    badge: SANDBOX,
    body: `<p>This page simulates the payment provider: no money is paid. The service gets your choice as a notification, as from
a real provider.</p>
${summary(order)}
<form method="post" accept-charset="utf-8">
<button name="decision" value="pay">Pay ${escapeHtml(priceText(purchase))}</button>
<button class="quiet" name="decision" value="decline">Decline the payment</button>
<button class="quiet" name="decision" value="cancel">Cancel</button>
</form>`,
  })
}

function summary({ purchase, package_name, workspace_name, balance }: Order): string {
  return listOf([
    ['Workspace', workspace_name],
    ['Package', package_name],
    ['Credits', creditsText(purchase)],
    ['Balance now', creditsText({ credits: balance })],
    [
      'Balance after',
      creditsText({ credits: units(Math.min(balance + purchase.credits, UNITS_MAX)) }),
    ],
    ['Price', priceText(purchase), 'total'],
  ])
}

function listOf(rows: readonly [name: string, value: string, look?: 'total'][]): string {
  const items = rows.map(([name, value, look]) => {
    const start = look ? `<div class="${look}">` : '<div>'
    return `${start}<dt>${escapeHtml(name)}</dt><dd>${escapeHtml(value)}</dd></div>`
  })
  return `<dl>\n${items.join('\n')}\n</dl>`
}

/** The result of a payment. */
export function paymentResult(
  frame: Frame,
  status: Exclude<PaymentStatus, 'open'>,
  outcome: Outcome,
): string {
  const { purchase } = outcome
  const { status: state, success_url, cancel_url } = purchase
  switch (status) {
    case 'paid':
      if (state === 'refunded' || state === 'disputed') {
        const text = 'Its credits were removed too.'
        return result(frame, outcome, {
          title: 'This payment was reversed',
          text,
          back: success_url,
        })
      }
      return result(frame, outcome, {
        title: 'Paid',
        text: `Thank you. ${creditsText(purchase)} for ${priceText(purchase)}.`,
        back: success_url,
      })
    case 'failed':
      return result(frame, outcome, {
        title: 'Payment declined',
        text: 'Nothing was paid, and no credits were added. To try again, start a new checkout.',
        back: cancel_url,
      })
    case 'expired':
      return result(frame, outcome, {
        title: 'This checkout has ended',
        text: 'Nothing was paid. Start a new checkout.',
        back: cancel_url,
      })
  }
}

function result(
  frame: Frame,
  { purchase, balance, is_sandbox }: Outcome,
  { title, text, back }: { title: string; text: string; back: string | null },
): string {
  const rows: [string, string][] =
    balance === null ? [] : [['Balance now', creditsText({ credits: balance })]]
  const list = rows.length > 0 ? `\n${listOf(rows)}` : ''
  return plainPage(frame, {
    title,
    badge: is_sandbox ? SANDBOX : undefined,
    body: `<p>${escapeHtml(text)}</p>${list}`,
    ways: waysBack(frame, purchase, back),
  })
}

/** The page after a cancel. The payer may return to the payment. */
export function paymentCanceled(frame: Frame, { session_id }: { session_id: string }): string {
  return plainPage(frame, {
    title: 'Canceled',
    badge: SANDBOX,
    body: '<p>Nothing was paid. You can still pay this checkout until it ends.</p>',
    ways: [
      { text: 'Return to the payment', href: encodeURIComponent(session_id), kind: 'main' },
      ...consoleWay(frame, 'Back to the console', '../').map(({ text, href }) => ({ text, href })),
    ],
  })
}

/** The page before the notification of the payment provider has arrived. */
export function paymentPending(frame: Frame, { session_id }: { session_id: string }): string {
  return notice(
    frame,
    'Your payment is being confirmed',
    'The credits are added when it is confirmed. Reload this page to see the result.',
    [{ text: 'Reload', href: encodeURIComponent(session_id), kind: 'main' }],
  )
}

/** The page for a session that does not exist, and other errors. */
export function paymentFault(frame: Frame, message: string): string {
  return notice(
    frame,
    'That did not work',
    message,
    consoleWay(frame, 'Back to the console', '../'),
  )
}

/** The ways from a result: to the shop that began the purchase, otherwise to the console. */
function waysBack(frame: Frame, purchase: Purchase, back: string | null): Way[] {
  if (back === null) return consoleWay(frame, 'Back to the console', '../')
  const href = returnUrl(back, purchase)
  return [{ text: `Back to ${new URL(href).host}`, href, kind: 'main' }]
}

/** A return address of a purchase, with the id of its session in the place that the address names. */
export function returnUrl(url: string, { session_id }: Pick<Purchase, 'session_id'>): string {
  return new URL(url.replaceAll('{CHECKOUT_SESSION_ID}', session_id ?? '')).href
}

/** A price such as `10.00 USD`, with the digits of its currency. */
export function priceText({ amount, currency }: Pick<Purchase, 'amount' | 'currency'>): string {
  const { maximumFractionDigits: digits = 2 } = new Intl.NumberFormat('en-US', {
    style: 'currency',
    currency,
  }).resolvedOptions()
  const number = new Intl.NumberFormat('en-US', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  })
  return `${number.format(amount / 10 ** digits)} ${currency}`
}

function creditsText({ credits }: Pick<Purchase, 'credits'>): string {
  const number = creditsOf(credits).toLocaleString('en-US', { maximumFractionDigits: 6 })
  return `${number} ${number === '1' ? 'credit' : 'credits'}`
}
