import type { Purchase } from '@svc/core'
import { creditsOf } from '@svc/core/contract'
import { escapeHtml, notice, plainPage } from './plain-page.ts'

/** The status that a payment page shows. */
export type PaymentStatus = 'open' | 'paid' | 'failed' | 'expired'

/** The form to pay. It posts to the page's own URL. */
export function paymentForm(purchase: Purchase): string {
  const title = `Pay ${priceText(purchase)} for ${creditsText(purchase)}`
  return plainPage(
    title,
    `<p>This page simulates the payment provider: no money is paid. The service gets your choice as a notification, as from
a real provider.</p>
<form method="post" accept-charset="utf-8">
<button name="decision" value="pay">Pay ${escapeHtml(priceText(purchase))}</button>
<button class="quiet" name="decision" value="decline">Decline the payment</button>
<button class="quiet" name="decision" value="cancel">Cancel</button>
</form>`,
  )
}

/** The result of a payment. */
export function paymentResult(purchase: Purchase, status: Exclude<PaymentStatus, 'open'>): string {
  switch (status) {
    case 'paid':
      if (purchase.status === 'refunded' || purchase.status === 'disputed') return reversed()
      return notice('Paid', `Thank you. ${creditsText(purchase)} for ${priceText(purchase)}.`)
    case 'failed':
      return notice('Payment declined', 'Nothing was paid, and no credits were added.')
    case 'expired':
      return notice('This checkout has ended', 'Nothing was paid. Start a new checkout.')
  }
}

function reversed(): string {
  return notice('This payment was reversed', 'Its credits were removed too.')
}

/** The page after a cancel. The payer may return to the payment. */
export function paymentCanceled(): string {
  return notice('Canceled', 'Nothing was paid. You can still pay this checkout until it ends.')
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
